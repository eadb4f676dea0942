"""What `tie_word_embeddings` is where a config.json does not say it: the defaults of config classes. Free of torch.

Read from the classes of causal and image-text models, and of the text models inside them, in transformers 5.24.0 and
4.57.6; scripts/check_audit compares them with those of an installed version. In version 5 the base config has no such
key, which counts as false; in version 4 it has true. So a class that is not listed, such as one that comes with its
checkpoint, is tied in 4 and not in 5.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TIED_IN_V5 = _names("""
    aya_vision bart bert bert-generation big_bird bigbird_pegasus biogpt blenderbot blenderbot-small blip
    blip_text_model bloom camembert cohere cohere2 cohere2_moe cohere2_vision cohere_compass_text cpmant ctrl
    data2vec-text deepseek_vl deepseek_vl_hybrid diffusion_gemma diffusion_gemma_text electra ernie ernie4_5
    ernie4_5_moe ernie4_5_vl_moe ernie4_5_vl_moe_text falcon falcon_mamba florence2 gemma gemma2 gemma3
    gemma3_text gemma3n gemma3n_text gemma4 gemma4_text gemma4_unified gemma4_unified_assistant
    gemma4_unified_text got_ocr2 gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox_japanese granite_docling
    granite_docling_text granite_swa hunyuan_vl hunyuan_vl_text hyperclovax_vision_v2 internvl janus jetmoe
    kimi_k25 kosmos-2 kosmos-2.5 kosmos_2_5_text_model kosmos_2_text_model lara_mini lfm2 lfm2_moe lfm2_vl lfm3
    lfm3_vl lighton_ocr mamba marian mbart megatron-bert minicpm3 minicpm_ocr mistral3 modernbert-decoder
    moss_transcribe_diarize mpt mvp openai-gpt opt ovis2 paddleocr_vl paddleocr_vl_text paligemma pegasus plbart
    pp_chart2table prophetnet qwen2_5_omni_text qwen3_vl_moe_text recurrent_gemma roberta roberta-prelayernorm
    roc_bert roformer shieldgemma2 smollm3 starcoder2 t5gemma2 t5gemma2_decoder trocr udop vaultgemma whisper
    xglm xlm xlm-roberta xlm-roberta-xl xlnet xmod youtu zamba zamba2 zaya
""")
_UNTIED_IN_V4 = _names("""
    Glm4vMoe_text apertus arcee aria_text bamba bitnet blt chameleon code_llama codegen dbrx deepseek_v2
    deepseek_v3 diffllama doge dots1 emu3_text_model evolla exaone4 falcon_h1 flex_olmo fuyu git glm glm4
    glm4_moe glm4v_text gpt_neox gpt_oss gptj granite granitemoe granitemoehybrid granitemoeshared helium
    hunyuan_v1_dense hunyuan_v1_moe idefics idefics2 idefics3 jamba llama llama4 llama4_text llava_next
    llava_next_video llava_onevision longcat_flash mamba2 minimax ministral mistral mixtral mllama_text_model
    moshi nemotron olmo olmo2 olmo3 olmoe open-llama persimmon phi phi3 phi4_multimodal phimoe pix2struct
    pix2struct_text_model qwen2 qwen2_5_vl qwen2_5_vl_text qwen2_moe qwen2_vl qwen2_vl_text qwen3 qwen3_moe
    qwen3_next qwen3_vl qwen3_vl_moe qwen3_vl_moe_text qwen3_vl_text reformer rembert rwkv seed_oss smolvlm
    stablelm xlstm
""")
_UNKNOWN_TO_V4 = _names("""
    afmoe apertus1p5 apertus1p5_text axk1 axk2 bailing_hybrid beam cohere2_moe cohere_compass
    cohere_compass_text cosmos3_edge cosmos3_edge_text cosmos3_omni cwm deepseek_ocr2 deepseek_ocr2_text
    deepseek_v32 deepseek_v4 diffusion_gemma diffusion_gemma_text dory dots3_note dots3_note_text
    ernie4_5_vl_moe ernie4_5_vl_moe_text exaone exaone4_5 exaone_moe fast_vlm flint gemma4 gemma4_text
    gemma4_unified gemma4_unified_assistant gemma4_unified_text glm46v glm4_moe_lite glm4v_moe_text glm5_next
    glm5_next_text glm_moe_dsa glm_ocr glm_ocr_text glmga granite4_vision granite4_vision_text granite_docling
    granite_docling_text granite_swa granitemoe_swa hrm_text hunyuan_vl hunyuan_vl_text hy_v3 hy_v4 hy_v4_vl
    hy_v4_vl_text hyperclovax hyperclovax_vision_v2 inkling2 inkling2_loop inkling2_loop_text inkling2_text
    inkling_mm_model inkling_text instructblipvideo internlm3 iquestcoder jais2 kimi_k25 kimi_linear kolibri1
    laguna lara_mini lfm2_moe lfm3 lfm3_vl lighton_ocr mellum mimo_v2_flash minicpm3 minicpm_ocr minicpmv4_6
    minicpmv4_7 minimax_m2 minimax_m3_vl minimax_m3_vl_text ministral3 mistral4 mistral_large4
    mistral_large4_text molmo2 molmo2_text moss_transcribe_diarize muse_glimmer muse_glimmer_text muse_spark
    muse_spark_text musicgen musicgen_decoder musicgen_melody musicgen_melody_decoder nanochat nemotron_h
    nemotron_h_omni olmo_hybrid paddleocr_vl paddleocr_vl_text pi0 pp_chart2table pp_formulanet
    pp_formulanet_text qianfan_ocr qwen2_5_omni_text qwen2_5_omni_thinker qwen3_5 qwen3_5_moe qwen3_5_moe_text
    qwen3_5_text qwen3_omni_moe_text qwen3_omni_moe_thinker qwen4_exp qwen4_exp_text sarvam_mla sarvam_moe
    solar_open step3p5 step3p7 t5gemma2 t5gemma2_decoder unlimited_ocr unlimited_ocr_text video_llama_3
    video_llava vision-encoder-decoder youtu zaya
""")
_TAKES_TRUE_OF_TEXT_IN_V5 = _names("""
    fast_vlm glm4v glm4v_moe glm_ocr hunyuan_vl llava llava_next_video llava_onevision minimax_m3_vl paddleocr_vl
    qwen2_5_vl qwen2_vl shieldgemma2 video_llama_3
""")
_TAKES_TEXT_WHERE_ABSENT_IN_V5 = _names("perception_lm shieldgemma2")
_WRITES_OVER_TEXT_IN_V4 = _names("pix2struct")
"""Composite configs that look at the flag of their text config too, for checkpoints that version 4 wrote."""


def composite_in_v5(model_type: str, top: bool | None, text: bool) -> bool:
    """What a composite config takes in transformers 5: its own flag, and in some families that of its text config."""
    if top is None and model_type in _TAKES_TEXT_WHERE_ABSENT_IN_V5:
        return text
    own = default_in_v5(model_type) if top is None else top
    return own or (text and model_type in _TAKES_TRUE_OF_TEXT_IN_V5)


def composite_in_v4(model_type: str, top: bool | None, text: bool | None) -> bool | None:
    """The same in transformers 4: the flag of the text config, whatever the composite one has; None where unknown."""
    if default_in_v4(model_type) is None:
        return None
    return bool(top) if model_type in _WRITES_OVER_TEXT_IN_V4 else text


def default_in_v5(model_type: str) -> bool:
    """What the config class of a `model_type` takes in transformers 5."""
    return model_type in _TIED_IN_V5


def default_in_v4(model_type: str) -> bool | None:
    """The same in transformers 4; None for a family that it does not know."""
    return None if model_type in _UNKNOWN_TO_V4 else model_type not in _UNTIED_IN_V4

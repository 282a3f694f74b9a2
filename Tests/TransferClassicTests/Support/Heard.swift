import TransferClassic

/// What a conversation said, apart from where the stream was cut: content that belongs together is in one piece, and what
/// means nothing is left out.
enum Heard: Equatable {
    case present(String)
    case begin(ClassicUpload)
    case content([UInt8])
    case end(ClassicEnd)
    case abort
    case reply([UInt8])
    case close
    case fault(ClassicFault)
}

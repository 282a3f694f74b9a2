import TransferClassic

/// A step of a conversation, independent of the cuts in the stream: connected content is in one piece, and steps
/// without a meaning are left out.
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

/// What one step of a conversation found. Of an upload come `begin`, then any number of `content` or `decoded`, then `end`
/// or `abort`, and nothing of another upload between them.
package enum ClassicStep: Equatable, Sendable {
    /// The bytes end before the next thing is complete; nothing was consumed.
    case needsMore
    /// A sign of life that means nothing, or bytes that are skipped.
    case nothing
    /// The client says its name: UTF-8 of 1 to 255 bytes without NUL.
    case present(name: String)
    /// An upload begins.
    case begin(ClassicUpload)
    /// Content as it travelled, where it lies in the bytes that were shown; never empty.
    case content(Range<Int>)
    /// Content that had to be decoded; never empty, at most 48 KiB, but for a text that was one message.
    case decoded([UInt8])
    /// The upload is whole as far as the client says.
    case end(ClassicEnd)
    /// The client takes the upload back.
    case abort
    /// Something to send, in front of answers that come later.
    case reply([UInt8])
    /// The client says that it is done. What comes behind it is not looked at.
    case close
}

/// One step of a conversation. An upload is `begin`, any number of `content` or `decoded`, then `end` or `abort`, with
/// no step of another upload in between.
package enum ClassicStep: Equatable, Sendable {
    /// The next item is not complete; no bytes were consumed.
    case needsMore
    /// A sign of life that needs no action, or skipped bytes.
    case nothing
    /// The client states its name: UTF-8 of 1 to 255 bytes without NUL.
    case present(name: String)
    /// The beginning of an upload.
    case begin(ClassicUpload)
    /// Plain content, as a range of the passed bytes; never empty.
    case content(Range<Int>)
    /// Decoded content; never empty, and at most 48 KiB, except for a text in one message.
    case decoded([UInt8])
    /// The client has sent all of the upload.
    case end(ClassicEnd)
    /// The client cancels the upload.
    case abort
    /// Bytes to send before any later answer.
    case reply([UInt8])
    /// The client ends the conversation. Bytes after this are ignored.
    case close
}

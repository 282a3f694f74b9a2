package import TransferAccess
import TransferCodec

/// What came of some work on requests.
package struct RequestOutcome: Sendable {
    /// For the client.
    package var chunk: FrameChunk

    /// What was done with the content in it.
    package var compression: AnswerCompression

    /// Whether content begins in it, of which nothing is known.
    package var beginsContent = false

    /// Requests that have their whole answer with it.
    package var answered: [UInt32] = []

    /// Whether there is more to do.
    package var isBusy = false

    /// Whether the client wants to hear of its mail from now on.
    package var watches = false

    /// Why the client may ask for nothing any more.
    package var refusal: Refusal?

    /// Between two steps.
    static let nothing = RequestOutcome(
        chunk: FrameChunk(room: 0), compression: AnswerCompression(.plain, CompressorPool()))
}

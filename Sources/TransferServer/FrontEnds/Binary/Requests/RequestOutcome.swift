package import TransferAccess

/// What came of some work on requests.
package struct RequestOutcome: Sendable {
    /// For the client.
    package var chunk: FrameChunk

    /// Requests that have their whole answer with it.
    package var answered: [UInt32] = []

    /// Whether there is more to do.
    package var isBusy = false

    /// Whether the client wants to hear of its mail from now on.
    package var watches = false

    /// Why the client may ask for nothing any more.
    package var refusal: Refusal?
}

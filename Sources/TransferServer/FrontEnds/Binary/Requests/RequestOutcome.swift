import TransferAccess

/// What came of some work on requests.
struct RequestOutcome: Sendable {
    /// For the client.
    var chunk: FrameChunk

    /// Requests that have their whole answer with it.
    var answered: [UInt32] = []

    /// Whether there is more to do.
    var isBusy = false

    /// Why the client may ask for nothing any more.
    var refusal: Refusal?
}

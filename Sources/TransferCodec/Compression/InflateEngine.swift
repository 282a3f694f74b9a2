/// One library's decompressor, with the state that it keeps between pieces and frames.
protocol InflateEngine: AnyObject {
    /// Starts a zlib stream and drops all earlier state.
    func begin()

    /// Expands `input`, the next piece of the stream, into `output`, which is not empty. Both are shorter than 4 GiB.
    ///
    /// Must not be called again after the stream was complete or corrupt, until `begin` is called.
    func inflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> InflateStep
}

/// Result of one piece of a stream.
struct InflateStep {
    enum Outcome {
        /// The input or the room was used up before the stream ended.
        case more
        /// The stream has ended, with the right checksum.
        case complete
        /// The stream is damaged, or uses a preset dictionary.
        case corrupt
    }

    let outcome: Outcome
    /// Bytes of input that were consumed.
    let read: Int
    /// Bytes of output that were written.
    let written: Int
}

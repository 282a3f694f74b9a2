/// One library's way to inflate, with the state it keeps between pieces and frames.
protocol InflateEngine: AnyObject {
    /// Starts a zlib stream; whatever came before is forgotten.
    func begin()

    /// Expands `input`, the next piece of the stream, into `output`, which is not empty. Both are shorter than 4 GiB.
    ///
    /// Not called again once the stream was complete or corrupt, until the next `begin`.
    func inflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> InflateStep
}

/// What an engine did with a piece of a stream.
struct InflateStep {
    enum Outcome {
        /// Input or room has run out before the stream.
        case more
        /// The stream has ended, and its checksum is right.
        case complete
        /// Damaged, or made with a preset dictionary.
        case corrupt
    }

    let outcome: Outcome
    /// Bytes of input taken.
    let read: Int
    /// Bytes of output written.
    let written: Int
}

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

/// The last heads of heartbeats without a body on a connection, with their steps. A client sends the same ones each
/// second, and thousands of clients do: comparing bytes takes a hundredth of the time of parsing JSON, and no memory.
struct KnownHeads {
    private var heads: [(bytes: [UInt8], step: ClassicStep)] = []
    /// The index of the head that is replaced next.
    private var oldest = 0

    /// The step for a known head; nil if it is unknown.
    func step(of head: RawSpan) -> ClassicStep? {
        for known in heads where known.bytes.count == head.byteCount {
            if head.withUnsafeBytes({ $0.elementsEqual(known.bytes) }) { return known.step }
        }
        return nil
    }

    mutating func add(_ head: RawSpan, _ step: ClassicStep) {
        guard (1...ClassicLimits.knownHead).contains(head.byteCount) else { return }
        let entry = (head.array(0..<head.byteCount), step)
        guard heads.count == ClassicLimits.knownHeads else { return heads.append(entry) }
        heads[oldest] = entry
        oldest = (oldest + 1) % ClassicLimits.knownHeads
    }
}

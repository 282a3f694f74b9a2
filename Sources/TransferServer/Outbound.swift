/// Bytes that wait for the socket to take them.
struct Outbound {
    private(set) var bytes: [UInt8] = []
    private var sent = 0

    var count: Int { bytes.count - sent }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: [UInt8]) {
        if isEmpty {
            bytes = more
            sent = 0
        } else {
            // A peer that reads slowly but steadily may never let it run empty.
            if sent > bytes.count / 2 {
                bytes.removeFirst(sent)
                sent = 0
            }
            bytes.append(contentsOf: more)
        }
    }

    /// Offers the bytes to `send` until it takes no more.
    ///
    /// - Parameter send: says how many it took, nothing for none now.
    mutating func drain<E: Error>(_ send: (UnsafeRawBufferPointer) throws(E) -> Int?) throws(E) {
        while !isEmpty {
            let taken = try bytes.span.bytes.withUnsafeBytes { (all) throws(E) in
                try send(UnsafeRawBufferPointer(rebasing: all[sent...]))
            }
            guard let taken else { return }
            sent += taken
        }
        bytes = []
        sent = 0
    }
}

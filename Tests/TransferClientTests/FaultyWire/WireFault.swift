import TransferTestSupport

/// A fault of the bytes in one direction of a connection.
enum WireFault: Equatable {
    /// The next `count` bytes arrive in pieces of this many bytes.
    case pieces(of: Int, count: Int)
    /// Nothing passes for this many milliseconds.
    case pause(Int32)
    /// No more bytes arrive, but the connection stays open.
    case blackHole
    /// The connection ends in order.
    case close
    /// The connection is reset.
    case reset
    /// One bit of the next byte is flipped.
    case flip(bit: UInt8)
    /// The next bytes arrive twice; only bytes that were received in one call are repeated.
    case duplicate(Int)
    /// The next bytes are lost.
    case drop(Int)
}

/// The faults in one direction of a connection and their offsets.
struct FaultPlan {
    /// Faults, sorted by offset.
    private(set) var faults: ArraySlice<(offset: Int, fault: WireFault)> = []

    init() {}

    init(_ faults: [(offset: Int, fault: WireFault)]) {
        self.faults = faults.sorted { $0.offset < $1.offset }[...]
    }

    /// - Parameter reach: the number of bytes expected in this direction; all faults lie within it.
    init(using generator: inout SplitMix64, reach: Int) {
        let count = Int.random(in: 0...3, using: &generator)
        self.init(
            (0..<count).map { _ in
                // The greeting and the first frames are near the front, so all magnitudes of offset are equally likely.
                let reach = max(8, reach >> Int.random(in: 0...8, using: &generator))
                return (Int.random(in: 0..<reach, using: &generator), .random(using: &generator))
            })
    }

    /// Bytes from `offset` to the next fault.
    func distance(from offset: Int) -> Int { faults.first.map { max(0, $0.offset - offset) } ?? .max }

    /// Removes the fault that is due at this offset; nil if none is due.
    mutating func take(at offset: Int) -> WireFault? {
        guard let first = faults.first, first.offset <= offset else { return nil }
        faults.removeFirst()
        return first.fault
    }
}

extension WireFault {
    static let kinds: Set = ["pieces", "pause", "blackHole", "close", "reset", "flip", "duplicate", "drop"]

    var kind: String {
        switch self {
        case .pieces: "pieces"
        case .pause: "pause"
        case .blackHole: "blackHole"
        case .close: "close"
        case .reset: "reset"
        case .flip: "flip"
        case .duplicate: "duplicate"
        case .drop: "drop"
        }
    }

    /// Some pauses are longer than the time-outs of the sessions.
    private static let pauses: [ClosedRange<Int32>] = [1...10, 10...100, 100...700]

    static func random(using generator: inout SplitMix64) -> WireFault {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0..<2: .pieces(of: .random(in: 1...9, using: &generator), count: .random(in: 1...3000, using: &generator))
        case 2..<4: .pause(.random(in: pauses[Int.random(in: 0..<3, using: &generator)], using: &generator))
        case 4: .blackHole
        case 5..<8: .close
        case 8..<10: .reset
        case 10..<16: .flip(bit: .random(in: 0..<8, using: &generator))
        case 16..<18: .duplicate(.random(in: 1...2000, using: &generator))
        default: .drop(.random(in: 1...2000, using: &generator))
        }
    }
}

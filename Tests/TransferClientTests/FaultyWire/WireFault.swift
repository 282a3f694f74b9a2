import TransferTestSupport

/// Something that goes wrong with the bytes of one direction of a connection.
enum WireFault: Equatable {
    /// The next bytes arrive in pieces of so many.
    case pieces(of: Int, count: Int)
    /// Nothing happens for so many milliseconds.
    case pause(Int32)
    /// Nothing arrives any more, though the connection stays.
    case blackHole
    /// The connection ends, in order.
    case close
    /// The connection is reset.
    case reset
    /// One bit of the next byte is another.
    case flip(bit: UInt8)
    /// The next bytes come twice, as far as they arrived together.
    case duplicate(Int)
    /// The next bytes are lost.
    case drop(Int)
}

/// What happens to the bytes of one direction, and behind how many of them.
struct FaultPlan {
    /// In the order of their places.
    private(set) var faults: ArraySlice<(offset: Int, fault: WireFault)> = []

    /// No faults.
    init() {}

    init(_ faults: [(offset: Int, fault: WireFault)]) {
        self.faults = faults.sorted { $0.offset < $1.offset }[...]
    }

    /// - Parameter reach: bytes that may pass in this direction; most faults are within them.
    init(using generator: inout SplitMix64, reach: Int) {
        let count = Int.random(in: 0...3, using: &generator)
        self.init(
            (0..<count).map { _ in
                // Near the front are the greeting and the first frames; all sizes of distance are as likely.
                let reach = max(8, reach >> Int.random(in: 0...8, using: &generator))
                return (Int.random(in: 0..<reach, using: &generator), .random(using: &generator))
            })
    }

    /// Bytes from `offset` to the next fault.
    func distance(from offset: Int) -> Int { faults.first.map { max(0, $0.offset - offset) } ?? .max }

    /// The fault that is due when so many bytes have passed.
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

    /// Longer than the time-outs of the sessions sometimes.
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

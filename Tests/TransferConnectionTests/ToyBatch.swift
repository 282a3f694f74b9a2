import TransferIO

@testable import TransferConnection

/// Batches of frames that have a byte of length and then as many bytes of content.
///
/// `@unchecked Sendable`: only the test's thread uses it.
final class ToyBatch: PipedBatch, @unchecked Sendable {
    static let mostSteps = 4
    static let bufferSize = 24

    var input: ReceiveBuffer
    private(set) var found: [[UInt8]] = []

    init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    init(after steps: ToyBatch) {
        input = steps.input
    }

    var isEmpty: Bool { found.isEmpty }
    var isComplete: Bool { found.count >= Self.mostSteps }

    /// - Returns: number of bytes that fit.
    @discardableResult func receive(_ bytes: ArraySlice<UInt8>) -> Int {
        let count = min(bytes.count, input.free.count)
        UnsafeMutableRawBufferPointer(rebasing: input.free[..<count]).copyBytes(from: bytes.prefix(count))
        input.received(count)
        return count
    }

    func parse() -> BatchPipe<ToyBatch>.Parsed {
        while let length = input.unparsed.first, input.unparsed.count > Int(length) {
            guard !isComplete else { return .untilFull }
            found.append(Array(input.unparsed[1..<1 + Int(length)]))
            input.consumed(1 + Int(length))
        }
        return .everything
    }

    /// The content of the frames with these numbers; some are long and some are empty.
    static func frames(_ numbers: Range<Int>) -> [[UInt8]] {
        numbers.map { Array(repeating: UInt8($0), count: $0 * 7 % 5) }
    }

    static func stream(of numbers: Range<Int>) -> [UInt8] {
        frames(numbers).flatMap { [UInt8($0.count)] + $0 }
    }

    static func count(in bytes: ArraySlice<UInt8>) -> Int {
        var (rest, count) = (bytes, 0)
        while let length = rest.first, rest.count > Int(length) {
            rest = rest.dropFirst(1 + Int(length))
            count += 1
        }
        return count
    }
}

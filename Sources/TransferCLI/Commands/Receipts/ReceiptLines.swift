private import CLinux
private import Glibc
private import TransferModel
internal import TransferReceipts
internal import TransferSystem

/// Reads receipts of both kinds from a file or from standard input, line by line, with bounded memory.
struct ReceiptLines: ~Copyable {
    /// A line of the file, with the receipt in it.
    struct Line {
        /// The number of the line, from 1.
        let number: Int
        /// The line without its end.
        let bytes: [UInt8]
        let receipt: Result<KeptReceipt, ReceiptFault>
    }

    /// The name of the file in messages.
    let name: String

    private let descriptor: Descriptor
    private var buffer: [UInt8] = []
    private var start = 0
    private var number = 0
    private var hasEnded = false

    private static let readSize = 256 << 10

    /// - Parameter operand: a path, or - for standard input.
    init(_ operand: String) throws(SystemError) {
        name = operand == "-" ? "standard input" : operand.escapedForDisplay
        descriptor = Descriptor(
            operand == "-"
                ? try system("dup") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) }
                : try system("open") { clinux_openat(AT_FDCWD, operand, O_RDONLY | O_CLOEXEC, 0) })
    }

    /// - Returns: nil at the end.
    mutating func next() throws(SystemError) -> Line? {
        guard let bytes = try nextBytes() else { return nil }
        number += 1
        let receipt = Result { () throws(ReceiptFault) in try KeptReceipt(json: bytes) }
        return Line(number: number, bytes: bytes, receipt: receipt)
    }

    /// The next line. A line that is too long is truncated, because it cannot be a receipt anyway.
    private mutating func nextBytes() throws(SystemError) -> [UInt8]? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            searched = buffer.count
            if hasEnded || searched - start > KeptReceipt.longestLine {
                defer { start = searched }
                return start == searched ? nil : Array(buffer[start...])
            }
            buffer.removeFirst(start)
            searched -= start
            start = 0
            try fill()
        }
    }

    private mutating func fill() throws(SystemError) {
        let number = descriptor.number
        let more = try withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 16) {
            (space) throws(SystemError) in
            let count = try system("read") { read(number, space.baseAddress, space.count) }
            return Array(space[..<count])
        }
        hasEnded = more.isEmpty
        buffer += more
    }
}

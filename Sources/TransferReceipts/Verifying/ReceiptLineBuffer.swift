import TransferModel

/// Collects the lines of a receipts file in memory that is allocated once.
///
/// It belongs to one task at a time.
package final class ReceiptLineBuffer {
    private let space: UnsafeMutableBufferPointer<UInt8>

    /// Bytes collected.
    package private(set) var count = 0

    /// - Parameter worthwhile: bytes from which on `count` is to be looked at: no more than one receipt is added beyond.
    package init(worthwhile: Int) {
        space = .allocate(capacity: worthwhile + SignedReceipt.longestLine + 1)
    }

    deinit {
        space.deallocate()
    }

    /// Adds a line, with its end.
    package func append(_ receipt: SignedReceipt) {
        var line = ByteWriter(UnsafeMutableBufferPointer(rebasing: space[count...]))
        receipt.write(to: &line)
        line.append("\n")
        count += line.count
    }

    /// Gives away what was collected.
    package func take(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(UnsafeRawBufferPointer(UnsafeMutableBufferPointer(rebasing: space[..<count])))
        count = 0
    }
}

import TransferModel

/// Collects the lines of a receipts file in memory that is allocated once.
///
/// It belongs to one task at a time.
package final class ReceiptLineBuffer {
    private let space: UnsafeMutableBufferPointer<UInt8>

    /// Number of bytes collected so far.
    package private(set) var count = 0

    /// - Parameter worthwhile: the owner takes the lines when there are this many bytes; the buffer has room for one
    ///   more receipt.
    package init(worthwhile: Int) {
        space = .allocate(capacity: worthwhile + SignedReceipt.longestLine + 1)
    }

    deinit {
        space.deallocate()
    }

    /// Appends a line with its end.
    package func append(_ receipt: SignedReceipt) {
        var line = ByteWriter(UnsafeMutableBufferPointer(rebasing: space[count...]))
        receipt.write(to: &line)
        line.append("\n")
        count += line.count
    }

    /// Passes the collected bytes to `body`, and begins again.
    package func take(_ body: (UnsafeRawBufferPointer) -> Void) {
        body(UnsafeRawBufferPointer(UnsafeMutableBufferPointer(rebasing: space[..<count])))
        count = 0
    }
}

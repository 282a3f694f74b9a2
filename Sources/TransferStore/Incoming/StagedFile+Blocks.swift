internal import CLinux
import Glibc
import TransferCodec
package import TransferModel
import TransferSystem

/// What a part has of its upload already. Nothing is known of it but its bytes, and these only as they are read now.
extension StagedFile {
    /// Bytes read at once.
    private static let readSize = 256 << 10

    /// Begins to look for the blocks that are there.
    ///
    /// - Parameter total: bytes of the upload, where they are known: the last block may be short.
    /// - Throws: when nothing can be said of the file at all.
    package func survey(of total: UInt64?, _ function: DigestFunction) throws(Failure) -> BlockSurvey {
        let size = try attempt("read what has arrived before") { () throws(SystemError) in try self.size() }
        return BlockSurvey(self, size: size, total: total, function)
    }

    private func size() throws(SystemError) -> UInt64 {
        UInt64(max(0, try disk.status(number).st_size))
    }

    /// - Returns: nothing when there is no more data.
    func seek(_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64? {
        do throws(SystemError) {
            return try disk.seek(number, from: position, whence)
        } catch {
            guard error.errno == ENXIO else { throw error }
            return nil
        }
    }

    /// - Returns: nil when the range cannot be read, or not all of it.
    package func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        (try? readDigest(of: range, function)) ?? nil
    }

    /// - Returns: nil where the file ends before the range does.
    /// - Throws: what read(2) says.
    func readDigest(of range: Range<UInt64>, _ function: DigestFunction) throws(SystemError) -> [UInt8]? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let hasher = BlockHasher(function)
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(range.upperBound - position)))
            let count = try disk.read(number, into: wanted, at: position)
            guard count > 0 else { return nil }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            position += UInt64(count)
        }
        return hasher.finish()
    }

    /// Cuts off what an earlier attempt has left behind the end.
    package func trim(to size: UInt64) throws(Failure) {
        try attempt("set the size of the file") { () throws(SystemError) in
            guard try self.size() > size else { return }
            try disk.truncate(number, to: size)
        }
    }
}

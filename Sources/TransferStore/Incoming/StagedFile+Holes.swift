internal import CLinux
import Glibc
import TransferCodec
package import TransferModel
import TransferSystem

/// Zeros that nobody has sent one by one, and that take no room where the file system can leave them out.
extension StagedFile {
    /// Makes a range zeros, whatever it was before, and the file so long that it has them; all of it or an error.
    package func clear(_ range: Range<UInt64>) throws(Failure) {
        guard !range.isEmpty else { return }
        try hold?.grow(to: range.upperBound)
        let isClear = try attempt("leave a hole in the content") { () throws(SystemError) in
            guard range.upperBound <= UInt64(off_t.max) else { throw SystemError(errno: EFBIG, call: "ftruncate") }
            return try inTurn { () throws(SystemError) in try makeHole(range) }
        }
        guard !isClear else { return }
        var position = range.lowerBound
        while position < range.upperBound {
            let zeros = ZeroBytes.prefix(Int(min(UInt64(ZeroBytes.count), range.upperBound - position)))
            try write(zeros, at: position)
            position += UInt64(zeros.count)
        }
    }

    /// To be called by one thread at a time: the file becomes longer, and never shorter than another one has made it.
    ///
    /// - Returns: false where the file system makes no holes in what is there.
    private func makeHole(_ range: Range<UInt64>) throws(SystemError) -> Bool {
        let size = UInt64(clamping: try disk.status(number).st_size)
        if size < range.upperBound { try disk.truncate(number, to: range.upperBound) }
        // Nothing was ever there.
        if isNew, !isReserved, size <= range.lowerBound { return true }
        do throws(SystemError) {
            try disk.clear(number, range)
            return true
        } catch {
            guard [EOPNOTSUPP, ENOSYS, EPERM].contains(error.errno) else { throw error }
            return false
        }
    }
}

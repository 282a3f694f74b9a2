internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// The calls for content, and those that make it and names durable.
extension Disk {
    /// - Returns: bytes that were read; none at the end.
    func read(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try run("read", .read(file)) { Glibc.read(file, buffer.baseAddress, buffer.count) }
    }

    /// As above, at a place.
    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try run("pread", .read(file)) { pread(file, buffer.baseAddress, buffer.count, off_t(clamping: offset)) }
    }

    /// Lets a file share all content of another one.
    func clone(_ source: Int32, into file: Int32) throws(SystemError) {
        try run("ioctl", .clone(file, from: source)) { clinux_clone(file, source) }
    }

    /// - Parameter whence: SEEK_DATA or SEEK_HOLE.
    /// - Returns: where the next of these begins.
    func seek(_ file: Int32, from offset: UInt64, _ whence: Int32) throws(SystemError) -> UInt64 {
        UInt64(max(0, try run("lseek", .seek(file)) { lseek(file, off_t(clamping: offset), whence) }))
    }

    func status(_ file: Int32) throws(SystemError) -> stat {
        var status = stat()
        try run("fstat", .examine(file)) { fstat(file, &status) }
        amend(&status)
        return status
    }

    /// What tells a file from another, and from what it was before; nothing where that cannot be said.
    func version(_ file: Int32) -> ContentVersion? {
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        amend(&status)
        return ContentVersion(status)
    }

    func truncate(_ file: Int32, to size: UInt64) throws(SystemError) {
        try run("ftruncate", .truncate(file, size: size)) { ftruncate(file, off_t(clamping: size)) }
    }

    /// - Returns: bytes that were written, maybe not all.
    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemError) -> Int {
        try run("pwrite", .write(file, bytes: bytes, offset: offset)) {
            pwrite(file, bytes.baseAddress, bytes.count, off_t(clamping: offset))
        }
    }

    /// Reserves space behind what the file's size says.
    func reserve(_ file: Int32, size: off_t) throws(SystemError) {
        try run("fallocate", .reserve(file, size: UInt64(size))) {
            clinux_fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size)
        }
    }

    /// Gives back what is reserved of a range that holds nothing.
    func release(_ file: Int32, _ range: Range<UInt64>) throws(SystemError) {
        try run("fallocate", .release(file)) { Self.punch(file, range) }
    }

    /// Makes a range zeros that take no room, as far as it lies in the file: of what lies behind its end, some file systems
    /// keep what is reserved.
    ///
    /// - Throws: EOPNOTSUPP where the file system cannot.
    func clear(_ file: Int32, _ range: Range<UInt64>) throws(SystemError) {
        try run("fallocate", .clear(file, range)) { Self.punch(file, range) }
    }

    private static func punch(_ file: Int32, _ range: Range<UInt64>) -> Int32 {
        clinux_fallocate(
            file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(clamping: range.lowerBound),
            off_t(clamping: range.upperBound - range.lowerBound))
    }

    func room(_ file: Int32) throws(SystemError) -> statvfs {
        var status = statvfs()
        try run("fstatvfs", .examine(file)) { fstatvfs(file, &status) }
        return status
    }

    /// - Parameter times: of the last access and of the last change (futimens(3)).
    func setTimes(_ file: Int32, _ times: (timespec, timespec)) throws(SystemError) {
        _ = try withUnsafeBytes(of: times) { (times) throws(SystemError) in
            try run("futimens", .setTimes(file)) {
                futimens(file, times.assumingMemoryBound(to: timespec.self).baseAddress)
            }
        }
    }

    func setPermissions(_ file: Int32, _ permissions: mode_t) throws(SystemError) {
        try run("fchmod", .setPermissions(file)) { fchmod(file, permissions) }
    }

    /// Makes one file or directory durable: content, attributes, names.
    func sync(_ number: Int32) throws(SystemError) {
        try run("fsync", .sync(number)) { fsync(number) }
    }

    /// Makes all of the file system durable that the descriptor is on.
    func syncAll(_ number: Int32) throws(SystemError) {
        try run("syncfs", .syncAll(number)) { clinux_syncfs(number) }
    }

    /// Waits for what is on its way to the disk already, and says whether any of a file or directory was lost that this
    /// descriptor has not been told of (sync_file_range(2), SYNC_FILE_RANGE_WAIT_BEFORE). Unlike `sync` it makes nothing
    /// durable, and the disk has nothing to do. Where the call is refused, `sync` does it.
    func checkWritten(_ number: Int32) throws(SystemError) {
        do throws(SystemError) {
            try run("sync_file_range", .checkWritten(number)) {
                clinux_sync_file_range(number, 0, 0, clinux_sync_file_range_wait)
            }
        } catch {
            guard [ENOSYS, EPERM, EINVAL, ESPIPE].contains(error.errno) else { throw error }
            try sync(number)
        }
    }

    /// Starts to write what has been written to a file so far, without waiting for it. Says nothing: that writing failed
    /// is told by the sync that has to follow, because nothing else takes the error away (errseq, in the kernel's
    /// documentation).
    func startWriting(_ file: Int32) {
        _ = try? run("sync_file_range", .startWriting(file)) {
            clinux_sync_file_range(file, 0, 0, clinux_sync_file_range_write)
        }
    }
}

internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The calls, by descriptors and single names.
extension Disk {
    func open(_ directory: Int32, _ name: String, flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        let flags = flags | O_CLOEXEC
        return Descriptor(
            try run("openat", .open(directory: directory, name: name, flags: flags)) {
                clinux_openat(directory, name, flags, mode)
            })
    }

    /// Opens a path of several components below a directory.
    ///
    /// - Parameter resolve: what openat2(2) must not do on the way.
    func open(_ directory: Int32, path: String, flags: Int32, resolve: UInt64) throws(SystemError) -> Descriptor {
        let flags = flags | O_CLOEXEC
        return Descriptor(
            try run("openat2", .open(directory: directory, name: path, flags: flags)) {
                clinux_openat2(directory, path, UInt64(flags), 0, resolve)
            })
    }

    func makeDirectory(_ directory: Int32, _ name: String, mode: mode_t) throws(SystemError) {
        try run("mkdirat", .makeDirectory(directory: directory, name: name)) { mkdirat(directory, name, mode) }
    }

    /// The status of the name itself; symbolic links are not followed.
    func status(_ directory: Int32, _ name: String) throws(SystemError) -> stat {
        var status = stat()
        try run("fstatat", .status(directory: directory, name: name)) {
            fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)
        }
        amend(&status)
        return status
    }

    /// The status of a name that may not be valid UTF-8.
    func status(_ directory: Int32, _ name: [UInt8]) throws(SystemError) -> stat {
        var status = stat()
        let shown = String(decoding: name, as: UTF8.self)
        let name = (name + [0]).map { CChar(bitPattern: $0) }
        try run("fstatat", .status(directory: directory, name: shown)) {
            fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)
        }
        amend(&status)
        return status
    }

    func unlink(_ directory: Int32, _ name: String) throws(SystemError) {
        try run("unlinkat", .unlink(directory: directory, name: name)) { unlinkat(directory, name, 0) }
    }

    func removeDirectory(_ directory: Int32, _ name: String) throws(SystemError) {
        try run("unlinkat", .removeDirectory(directory: directory, name: name)) {
            unlinkat(directory, name, AT_REMOVEDIR)
        }
    }

    /// - Parameter name: the path of the file; empty to link the open `file`.
    func link(_ file: Int32, _ name: String, flags: Int32, to target: (directory: Int32, name: String))
        throws(SystemError)
    {
        try run("linkat", .link(file, directory: target.directory, name: target.name)) {
            linkat(name.isEmpty ? file : AT_FDCWD, name, target.directory, target.name, flags)
        }
    }

    /// Gives the file or link at a name another name. A symbolic link is not followed.
    func link(
        from directory: Int32, _ name: String, to target: (directory: Int32, name: String)
    ) throws(SystemError) {
        let call = DiskCall.linkName(
            from: directory, name: name, directory: target.directory, newName: target.name)
        try run("linkat", call) { linkat(directory, name, target.directory, target.name, 0) }
    }

    func rename(_ directory: Int32, _ name: String, to target: (directory: Int32, name: String)) throws(SystemError) {
        let call = DiskCall.rename(
            from: directory, name: name, directory: target.directory, newName: target.name, replaces: true)
        try run("renameat", call) { renameat(directory, name, target.directory, target.name) }
    }

    /// Renames an entry without replacing another one. Fails with EEXIST if the name is taken, and with EINVAL if the
    /// file system does not support that.
    func renameToFreeName(
        _ directory: Int32, _ name: String, to target: (directory: Int32, name: String)
    ) throws(SystemError) {
        let call = DiskCall.rename(
            from: directory, name: name, directory: target.directory, newName: target.name, replaces: false)
        try run("renameat2", call) {
            clinux_renameat2(directory, name, target.directory, target.name, clinux_rename_noreplace)
        }
    }

    /// Exchanges two names in one step. Fails with EINVAL if the file system does not support it.
    func exchange(
        _ directory: Int32, _ name: String, with other: (directory: Int32, name: String)
    ) throws(SystemError) {
        let call = DiskCall.exchange(directory, name: name, directory: other.directory, otherName: other.name)
        try run("renameat2", call) {
            clinux_renameat2(directory, name, other.directory, other.name, clinux_rename_exchange)
        }
    }

    /// The type of the file system, a number from linux/magic.h.
    func fileSystemType(_ number: Int32) throws(SystemError) -> Int {
        var type = 0
        try run("fstatfs", .examine(number)) { clinux_file_system_type(number, &type) }
        return type
    }
}

/// The calls for content and for syncs.
extension Disk {
    /// - Returns: the number of bytes read; 0 at the end.
    func read(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try run("read", .read(file)) { Glibc.read(file, buffer.baseAddress, buffer.count) }
    }

    /// Reads bytes of a file at an offset.
    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try run("pread", .read(file)) { pread(file, buffer.baseAddress, buffer.count, off_t(clamping: offset)) }
    }

    /// Makes a file share all content of another one.
    func clone(_ source: Int32, into file: Int32) throws(SystemError) {
        try run("ioctl", .clone(file, from: source)) { clinux_clone(file, source) }
    }

    /// - Parameter whence: SEEK_DATA or SEEK_HOLE.
    /// - Returns: the offset at which the next data or hole begins.
    func seek(_ file: Int32, from offset: UInt64, _ whence: Int32) throws(SystemError) -> UInt64 {
        UInt64(max(0, try run("lseek", .seek(file)) { lseek(file, off_t(clamping: offset), whence) }))
    }

    /// - Returns: the same as `seek`; nil if no data follows.
    func seekIfThere(_ file: Int32, from offset: UInt64, _ whence: Int32) throws(SystemError) -> UInt64? {
        do throws(SystemError) {
            return try seek(file, from: offset, whence)
        } catch {
            guard error.errno == ENXIO else { throw error }
            return nil
        }
    }

    func status(_ file: Int32) throws(SystemError) -> stat {
        var status = stat()
        try run("fstat", .examine(file)) { fstat(file, &status) }
        amend(&status)
        return status
    }

    /// The version of an open file; nil if it cannot be examined.
    func version(_ file: Int32) -> ContentVersion? {
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        amend(&status)
        return ContentVersion(status)
    }

    func truncate(_ file: Int32, to size: UInt64) throws(SystemError) {
        try run("ftruncate", .truncate(file, size: size)) { ftruncate(file, off_t(clamping: size)) }
    }

    /// - Returns: the number of bytes written, which may be fewer than all.
    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(SystemError) -> Int {
        try run("pwrite", .write(file, bytes: bytes, offset: offset)) {
            pwrite(file, bytes.baseAddress, bytes.count, off_t(clamping: offset))
        }
    }

    /// Repeats pwrite(2) until all bytes are written.
    func writeAll(_ file: Int32, _ bytes: [UInt8], at offset: UInt64 = 0) throws(SystemError) {
        try bytes.span.bytes.withUnsafeBytes { (all) throws(SystemError) in
            var written = 0
            while written < all.count {
                let rest = UnsafeRawBufferPointer(rebasing: all[written...])
                let count = try write(file, rest, at: offset + UInt64(written))
                // A file system should never do this; without the check it would cause an endless loop.
                guard count > 0 else { throw SystemError(errno: EIO, call: "pwrite") }
                written += count
            }
        }
    }

    /// - Returns: `most` bytes, or fewer at the end of the file.
    func readAll(_ file: Int32, most: Int, at offset: UInt64 = 0) throws(SystemError) -> [UInt8] {
        var (content, count) = ([UInt8](), 1)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(most, 64 << 10), alignment: 16)
        defer { buffer.deallocate() }
        while content.count < most, count > 0 {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(most - content.count))
            count = try read(file, into: rest, at: offset + UInt64(content.count))
            content += buffer[..<count]
        }
        return content
    }

    /// Copies bytes to the same place in another file.
    ///
    /// - Returns: the number of bytes; 0 at the end of the file.
    func copy(
        _ file: Int32, to target: Int32, through buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(SystemError) -> Int {
        try run("pwrite", .copy(to: target, bytes: UnsafeRawBufferPointer(buffer), offset: offset)) {
            let count = pread(file, buffer.baseAddress, buffer.count, off_t(clamping: offset))
            var written = 0
            while written < count {
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[written..<count])
                let step = pwrite(target, bytes.baseAddress, bytes.count, off_t(clamping: offset) + off_t(written))
                guard step > 0 else {
                    if step == 0 { errno = EIO }
                    return -1
                }
                written += step
            }
            return count
        }
    }

    /// Reserves space without changing the file's size.
    func reserve(_ file: Int32, size: off_t) throws(SystemError) {
        try run("fallocate", .reserve(file, size: UInt64(size))) {
            clinux_fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size)
        }
    }

    /// Releases the space reserved for a range without content.
    func release(_ file: Int32, _ range: Range<UInt64>) throws(SystemError) {
        try run("fallocate", .release(file)) { Self.punch(file, range) }
    }

    /// Punches a hole into a range of the file. Beyond the end of the file, some file systems keep reserved space.
    ///
    /// - Throws: EOPNOTSUPP if the file system does not support it.
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

    /// - Parameter times: the times of the last access and of the last modification (futimens(3)).
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

    /// Syncs one file or directory: content, attributes, names.
    func sync(_ number: Int32) throws(SystemError) {
        try run("fsync", .sync(number)) { fsync(number) }
    }

    /// Syncs the file system of the descriptor.
    func syncAll(_ number: Int32) throws(SystemError) {
        try run("syncfs", .syncAll(number)) { clinux_syncfs(number) }
    }

    /// Waits for writes that have been started, and fails if any write of the file or directory was lost that this
    /// descriptor has not reported (sync_file_range(2), SYNC_FILE_RANGE_WAIT_BEFORE). Unlike `sync` it makes nothing
    /// durable and costs the disk nothing. If the kernel refuses the call, `sync` is called instead.
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

    /// Starts writing a file's content to the disk, without waiting. Errors are ignored: the sync that must follow
    /// reports them, because nothing else clears them (errseq, in the kernel's documentation).
    func startWriting(_ file: Int32) {
        _ = try? run("sync_file_range", .startWriting(file)) {
            clinux_sync_file_range(file, 0, 0, clinux_sync_file_range_write)
        }
    }
}

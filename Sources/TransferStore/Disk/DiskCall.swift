/// A call with which the store uses the file system, for tests that intercept it. Directories and files are identified
/// by their descriptors, which are open during the call.
package enum DiskCall {
    /// openat(2) or openat2(2); the result is a descriptor.
    case open(directory: Int32, name: String, flags: Int32)
    case makeDirectory(directory: Int32, name: String)
    /// fstatat(2).
    case status(directory: Int32, name: String)
    /// fstat(2), fstatfs(2) and fstatvfs(3); listxattrat(2) for an entry of a directory.
    case examine(Int32)
    /// read(2) or pread(2); the result is the number of bytes.
    case read(Int32)
    /// lseek(2) with SEEK_DATA or SEEK_HOLE; the result is an offset.
    case seek(Int32)
    /// pwrite(2); the result is the number of bytes.
    case write(Int32, bytes: UnsafeRawBufferPointer, offset: UInt64)
    /// pread(2) of one file, and pwrite(2) to another one in the same place; the result is the number of bytes.
    case copy(to: Int32, bytes: UnsafeRawBufferPointer, offset: UInt64)
    /// fallocate(2).
    case reserve(Int32, size: UInt64)
    /// fallocate(2) with FALLOC_FL_PUNCH_HOLE for a range without content.
    case release(Int32)
    /// fallocate(2) with FALLOC_FL_PUNCH_HOLE for a range that may have content.
    case clear(Int32, Range<UInt64>)
    /// ftruncate(2).
    case truncate(Int32, size: UInt64)
    case setTimes(Int32)
    case setPermissions(Int32)
    /// fchown(2).
    case setOwner(Int32)
    /// fsetxattr(2) or fremovexattr(2).
    case setExtended(Int32, name: [UInt8])
    /// symlinkat(2).
    case makeLink(directory: Int32, name: String)
    /// readlinkat(2).
    case readLink(directory: Int32, name: String)
    /// utimensat(2) or fchownat(2) of a symbolic link; fchmodat(3) of a file that cannot be opened.
    case setLink(directory: Int32, name: String)
    /// ioctl_ficlonerange(2): the file shares the content of another one.
    case clone(Int32, from: Int32)
    /// sync_file_range(2), without waiting.
    case startWriting(Int32)
    /// sync_file_range(2), only waiting: clears the error, as fsync(2) does.
    case checkWritten(Int32)
    /// fsync(2) of a file or directory.
    case sync(Int32)
    /// syncfs(2).
    case syncAll(Int32)
    case link(Int32, directory: Int32, name: String)
    /// linkat(2) of a name; links are not followed.
    case linkName(from: Int32, name: String, directory: Int32, newName: String)
    /// rename(2), or renameat2(2) with RENAME_NOREPLACE unless it replaces.
    case rename(from: Int32, name: String, directory: Int32, newName: String, replaces: Bool)
    /// renameat2(2) with RENAME_EXCHANGE, which exchanges two names.
    case exchange(Int32, name: String, directory: Int32, otherName: String)
    case unlink(directory: Int32, name: String)
    /// unlinkat(2) of an empty directory.
    case removeDirectory(directory: Int32, name: String)
}

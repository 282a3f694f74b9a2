import Glibc
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// A file that is being pushed. It is read once from the beginning, and must have the same size and time afterwards;
/// otherwise the bytes may mix two versions.
final class SourceFile {
    private let place: SourcePlace
    private let descriptor: Descriptor
    private let status: stat
    private var position: UInt64
    private lazy var holes = FileHoles(size: status.st_size, blocks: status.st_blocks) {
        (position, whence) throws(SystemError) in
        try seek(position, whence)
    }

    /// Tells whether the file was changed or replaced while it was read.
    struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t
        let size: UInt64
        let modified: Timestamp

        init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
            size = UInt64(max(0, status.st_size))
            modified = Timestamp(status.st_mtim)
        }
    }

    /// - Parameter range: the bytes to read; nil for all of them.
    /// - Throws: `sourceUnreadable`; `sourceSkipped` if it is not a regular file.
    init(_ place: SourcePlace, range: Range<UInt64>? = nil) throws(Failure) {
        self.place = place
        do throws(SystemError) {
            // O_NONBLOCK: opening a FIFO in the place of the file must not block this thread.
            descriptor = try place.open(O_RDONLY | O_NONBLOCK)
            let number = descriptor.number
            var status = stat()
            try system("fstat") { fstat(number, &status) }
            self.status = status
        } catch {
            throw .unreadable(error)
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .special(FileType(mode: status.st_mode).description) }
        identity = Identity(status)
        position = range?.lowerBound ?? 0
        size = range.map { UInt64($0.count) } ?? identity.size
    }

    let identity: Identity

    /// Bytes that this reads: the whole file or the range.
    let size: UInt64

    var permissions: UInt16 { UInt16(truncatingIfNeeded: status.st_mode & 0o777) }

    var modified: Timestamp { identity.modified }

    /// Extended attributes, and the owner if that is wanted.
    ///
    /// - Throws: `sourceUnreadable`, also if the attributes are too large to be kept.
    func extraAttributes(wantsOwner: Bool) throws(Failure) -> ExtraAttributes {
        do throws(SystemError) {
            return try ExtraAttributes(of: descriptor.number, wantsOwner: wantsOwner)
        } catch {
            throw error.errno == E2BIG ? .tooManyAttributes : .unreadable(error)
        }
    }

    /// When anything about the file last changed, including its name and permissions (ctime).
    var changed: Timestamp { Timestamp(status.st_ctim) }

    /// Whether nothing about the file has changed since it was opened, whatever has its path now.
    var isUntouched: Bool {
        var now = stat()
        guard fstat(descriptor.number, &now) == 0 else { return false }
        return Identity(now) == identity && Timestamp(now.st_ctim) == changed
    }

    /// Whether the file is open for writing, as far as the kernel can tell. If it is not, the caller still has to
    /// compare its status, because a writer may have closed the file before.
    var isOpenForWriting: Bool { ReadLease.isRefused(on: descriptor.number) }

    /// Reads the next bytes.
    ///
    /// - Returns: number of bytes; fewer than requested only at the end of the file.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count: Int
            do throws(SystemError) {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                count = try system("pread") {
                    pread(descriptor.number, rest.baseAddress, rest.count, off_t(clamping: position))
                }
            } catch {
                throw .unreadable(error)
            }
            guard count > 0 else { break }
            filled += count
            position += UInt64(count)
        }
        return filled
    }

    /// Bytes that the file takes on its disk, as far as known; nil if it has no holes.
    var filled: UInt64? { holes.filled }

    /// The next bytes: data, or a hole.
    var run: FileHoles.Run {
        holes.run(at: position) { (position, whence) throws(SystemError) in try seek(position, whence) }
    }

    /// Skips bytes of a hole.
    func skip(_ count: Int) {
        position += UInt64(max(0, count))
    }

    private func seek(_ position: UInt64, _ whence: Int32) throws(SystemError) -> UInt64 {
        UInt64(max(0, try system("lseek") { lseek(descriptor.number, off_t(clamping: position), whence) }))
    }

    /// Reads the first bytes without moving.
    func peek(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        max(0, pread(descriptor.number, buffer.baseAddress, buffer.count, 0))
    }

    /// Compares the opened file with the one that has its path now.
    ///
    /// - Throws: `sourceChanged` if they differ.
    func checkUnchanged() throws(Failure) {
        guard place.identity == identity else { throw .changed }
    }
}

extension Timestamp {
    init(_ time: timespec) {
        // Clamped: a file system in user space may give any value.
        let nanoseconds = min(max(0, time.tv_nsec), 999_999_999)
        self.init(seconds: Int64(time.tv_sec), nanoseconds: UInt32(nanoseconds))
    }
}

/// The type of a directory entry.
enum FileType: Equatable {
    case regular, directory, symbolicLink, fifo, socket, device, unknown

    init(mode: mode_t) {
        self =
            switch mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .fifo
            case S_IFSOCK: .socket
            case S_IFCHR, S_IFBLK: .device
            default: .unknown
            }
    }

    /// With an article, for sentences such as "it is a FIFO".
    var description: String {
        switch self {
        case .regular: "a file"
        case .directory: "a directory"
        case .symbolicLink: "a symbolic link"
        case .fifo: "a FIFO"
        case .socket: "a socket"
        case .device: "a device"
        case .unknown: "a file of unknown type"
        }
    }
}

extension PendingUpload.Content {
    /// Bytes of content; nil for streams and missing files.
    var sizeNow: UInt64? {
        switch self {
        case .bytes(let bytes): return UInt64(bytes.count)
        case .part(_, let range): return UInt64(range.count)
        case .multipart(let split): return split.knownSize
        case .drop: return 0
        case .sealed(let file): return file.size
        case .stream, .rest: return nil
        case .file(let place): return place.identity?.size
        }
    }
}

import Glibc
import TransferSystem

/// An inotify(7) instance. No call blocks.
final class Inotify {
    private let descriptor: Descriptor

    /// Room for some hundred events at once.
    private static let readSize = 64 << 10

    init() throws(SystemError) {
        descriptor = Descriptor(try system("inotify_init1") { inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)) })
    }

    /// The descriptor, which is readable while there are events.
    var number: Int32 { descriptor.number }

    /// - Returns: the number of the watch; the existing one if the directory has one.
    /// - Throws: ENOENT if /proc is not mounted, and the errors of inotify_add_watch(2).
    func watch(_ directory: SourceDirectory) throws(SystemError) -> Int32 {
        let path = "/proc/self/fd/\(directory.number)"
        return try system("inotify_add_watch") { inotify_add_watch(number, path, InotifyEvent.mask) }
    }

    func end(_ watch: Int32) {
        _ = inotify_rm_watch(number, watch)
    }

    /// The events of one read; may be empty.
    func next() throws(SystemError) -> [InotifyEvent] {
        try withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 8) { (space) throws(SystemError) in
            let count = try nonBlocking("read") { read(number, space.baseAddress, space.count) }
            return InotifyEvent.parse(UnsafeRawBufferPointer(rebasing: space[..<(count ?? 0)]))
        }
    }
}

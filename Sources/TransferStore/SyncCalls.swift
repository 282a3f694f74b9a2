internal import CLinux
import Glibc
import TransferSystem

/// The calls that make things durable, by descriptor. Tests put others in their place.
struct SyncCalls: Sendable {
    /// One file or directory: content, attributes, names.
    var file: @Sendable (Int32) throws(SystemError) -> Void = { number throws(SystemError) in
        try system("fsync") { fsync(number) }
    }

    /// All of the file system that the descriptor is on.
    var fileSystem: @Sendable (Int32) throws(SystemError) -> Void = { number throws(SystemError) in
        try system("syncfs") { clinux_syncfs(number) }
    }

    /// Starts to write what has been written to a file so far, without waiting for it. Says nothing: that writing failed
    /// is told by the sync that has to follow, because nothing else takes the error away (errseq, in the kernel's
    /// documentation).
    var start: @Sendable (Int32) -> Void = { number in
        _ = clinux_sync_file_range(number, 0, 0, clinux_sync_file_range_write)
    }

    /// Bytes that the machine has yet to write; nothing when that is not known.
    var dirtyBytes: @Sendable () -> UInt64?

    init() {
        let memory = DirtyMemory()
        dirtyBytes = { memory?.bytes }
    }
}

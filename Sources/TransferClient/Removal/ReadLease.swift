internal import CLinux
import Glibc
import TransferSystem

/// A read lease on a file (fcntl(2), `F_SETLEASE`): the kernel grants it only while no process has the file open for
/// writing. A writable mapping counts as open even after its descriptor was closed. A process that opens the file for
/// writing waits until the lease is given back, so the lease is held only for a moment.
struct ReadLease: ~Copyable {
    private let descriptor: Int32

    /// - Parameter descriptor: a descriptor of the file, open for reading only.
    /// - Throws: EAGAIN if the file is open for writing; EACCES if it belongs to another user and this process may not
    ///   take leases (`CAP_LEASE`); EINVAL if the file system has no leases.
    init(on descriptor: Int32) throws(SystemError) {
        // The kernel sends a signal to the holder of a lease that another process waits for. The default, SIGIO, would
        // end this process; SIGURG is ignored by default (signal(7)).
        try system("fcntl") { clinux_set_lease_signal(descriptor, SIGURG) }
        try system("fcntl") { clinux_set_lease(descriptor, CInt(F_RDLCK)) }
        self.descriptor = descriptor
    }

    deinit { _ = clinux_set_lease(descriptor, CInt(F_UNLCK)) }

    /// File systems that refuse all leases with EAGAIN because another machine may be writing: NFS and SMB
    /// (linux/magic.h).
    private static let unsure: Set<UInt32> = [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42]

    /// Whether the kernel says that a process has a file open for writing.
    ///
    /// - Parameter descriptor: a descriptor of the file, open for reading only.
    /// - Returns: false also if the kernel cannot tell.
    static func isRefused(on descriptor: Int32) -> Bool {
        do throws(SystemError) {
            _ = try ReadLease(on: descriptor)
            return false
        } catch {
            var type = 0
            return error.errno == EAGAIN && clinux_file_system_type(descriptor, &type) == 0
                && !unsure.contains(UInt32(truncatingIfNeeded: type))
        }
    }
}

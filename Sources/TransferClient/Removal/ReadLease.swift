internal import CLinux
import Glibc
import TransferSystem

/// A read lease on a file (fcntl(2), `F_SETLEASE`): the kernel grants it only while nobody has the file open for writing. A mapping
/// that can be written counts as open, also when its descriptor is closed. Whoever opens the file for writing meanwhile waits until
/// it is given back, so it is taken for a moment only.
struct ReadLease: ~Copyable {
    private let descriptor: Int32

    /// - Parameter descriptor: of a file, open for reading alone.
    /// - Throws: EAGAIN when somebody has it open for writing; EACCES when it is somebody else's and this process may not take
    ///   leases (`CAP_LEASE`); EINVAL where the file system has none.
    init(on descriptor: Int32) throws(SystemError) {
        // Whom others wait for gets a signal. The usual one, SIGIO, would end this process; SIGURG is ignored by everybody who
        // does not ask for it (signal(7)).
        try system("fcntl") { clinux_set_lease_signal(descriptor, SIGURG) }
        try system("fcntl") { clinux_set_lease(descriptor, CInt(F_RDLCK)) }
        self.descriptor = descriptor
    }

    deinit { _ = clinux_set_lease(descriptor, CInt(F_UNLCK)) }

    /// File systems that refuse leases as if somebody wrote, because another machine may: NFS and SMB (linux/magic.h).
    private static let unsure: Set<UInt32> = [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42]

    /// Whether somebody has a file open for writing.
    ///
    /// - Parameter descriptor: of the file, open for reading alone.
    /// - Returns: false also where the kernel does not tell.
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

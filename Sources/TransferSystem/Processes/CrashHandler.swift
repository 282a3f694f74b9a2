internal import CLinux
import Glibc

/// Makes this process write a report when a signal ends it, as after a trap of Swift, a memory fault or an abort.
package enum CrashHandler {
    /// Most bytes of a report: enough for 128 frames and the lines of a hundred libraries.
    package static let longestReport = 64 << 10

    /// Installs the handler. To be called on the main thread, before other threads are started.
    ///
    /// - Parameter descriptor: the file for the report; it must stay open.
    package static func install(writingTo descriptor: Int32) throws(SystemError) {
        try system("sigaction") { clinux_crash_prepare(descriptor) }
    }

    /// Makes a memory file of fixed size, to which another process can write its report.
    package static func makeFile() throws(SystemError) -> Descriptor {
        Descriptor(try system("memfd_create") { clinux_crash_file(longestReport) })
    }

    /// Whether a descriptor is a file from `makeFile`, recognised by its seals, which other files are unlikely to have.
    package static func isFile(_ number: Int32) -> Bool {
        // F_GET_SEALS; F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW (fcntl(2)).
        // The kernel may add others (vm.memfd_noexec).
        let seals = fcntl(number, 1034)
        return seals >= 0 && seals & (1 | 2 | 4) == 1 | 2 | 4
    }

    /// The report in a file from `makeFile`.
    package static func report(in file: borrowing Descriptor) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: longestReport)
        let number = file.number
        let count = bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, 0) }
        return Array(bytes.prefix(max(0, count)).prefix { $0 != 0 })
    }
}

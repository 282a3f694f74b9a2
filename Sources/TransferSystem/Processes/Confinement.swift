internal import CLinux
import Glibc

/// Restricts the whole process permanently, once it has opened everything that it needs: it can no longer reach files
/// outside some directories, create sockets, or gain privileges by running programs. The kernel enforces this even if
/// an attacker controls the process (landlock(7), `no_new_privs` of prctl(2)).
package struct Confinement: ~Copyable {
    /// The restrictions that are in force; they depend on the kernel.
    package enum Outcome: Equatable, Sendable {
        /// Landlock confines the process; its version determines what it can restrict.
        case confined(version: Int)
        /// Only `no_new_privs` is set; the text says why Landlock is not used.
        case unprivileged(String)
    }

    /// The first version that permits linking and renaming between directories, which publishing needs.
    private static let leastVersion = 2

    private let version: Int
    /// Descriptor of the rules; nil if Landlock cannot be used.
    private let rules: Int32?
    private let obstacle: String?

    /// Creates rules that permit nothing. They take effect with `enforce`.
    package init() {
        version = Int(clinux_landlock_version())
        let code = errno
        let rights = LandlockRights(version: version)
        guard version >= Self.leastVersion else {
            rules = nil
            obstacle = version > 0 ? "its Landlock has version \(version)" : Self.obstacle(code)
            return
        }
        let number = clinux_landlock_create(rights.files, rights.network, rights.scopes)
        obstacle = number >= 0 ? nil : String(cString: strerror(errno))
        rules = number >= 0 ? number : nil
    }

    deinit {
        if let rules { close(rules) }
    }

    /// Permits reading, writing, creating and removing files and directories below a directory, but no execution, links
    /// or devices.
    ///
    /// - Parameter directory: a descriptor of any kind.
    package func allowFiles(below directory: Int32) throws(SystemError) {
        try allow(LandlockRights(version: version).storing, directory)
    }

    /// Does the same for a directory with this path.
    package func allowFiles(below path: String) throws(SystemError) {
        let directory = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, clinux_o_path | clinux_o_directory | O_CLOEXEC, 0) })
        try allowFiles(below: directory.number)
    }

    /// Permits removing files below a directory.
    package func allowRemoving(below path: String) throws(SystemError) {
        let directory = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, path, clinux_o_path | clinux_o_directory | O_CLOEXEC, 0) })
        try allow(LandlockRights.removing, directory.number)
    }

    /// Permits reading a file, if it exists.
    ///
    /// - Parameter isReplaceable: whether to permit a file that replaces this one later. All files below its folder are
    ///   permitted then and, if the path is a symbolic link, all files below the folder of the target; never all files
    ///   below the root.
    package func allowReading(_ path: String, isReplaceable: Bool) throws(SystemError) {
        guard let resolved = realpath(path, nil) else { return }
        defer { free(resolved) }
        let file = String(cString: resolved)
        try allow(LandlockRights.readFile, at: file)
        guard isReplaceable else { return }
        for folder in [CanonicalPath(OwnFile.folder(of: path)).string, OwnFile.folder(of: file)] where folder != "/" {
            try allow(LandlockRights.readFile, at: folder)
        }
    }

    private func allow(_ rights: UInt64, at path: String) throws(SystemError) {
        let place = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, clinux_o_path | O_CLOEXEC, 0) })
        try allow(rights, place.number)
    }

    private func allow(_ rights: UInt64, _ directory: Int32) throws(SystemError) {
        guard let rules else { return }
        try system("landlock_add_rule") { clinux_landlock_allow(rules, directory, rights) }
    }

    /// Permits connecting to a TCP port of any machine. Before version 4 of Landlock, all ports are permitted.
    package func allowConnecting(toPort port: UInt16) throws(SystemError) {
        guard let rules, LandlockRights(version: version).network != 0 else { return }
        try system("landlock_add_rule") { clinux_landlock_allow_port(rules, UInt64(port)) }
    }

    /// Permits reading the kernel's information on processes in /proc. Dispatch, on which Swift's concurrency runs,
    /// sometimes reads there whether its threads make progress, and ends the process if it can't (libdispatch,
    /// src/event/workqueue.c).
    private func allowReadingOfThreads() throws(SystemError) {
        let processes = clinux_openat(AT_FDCWD, "/proc", clinux_o_path | clinux_o_directory | O_CLOEXEC, 0)
        guard processes >= 0 else { return }
        let directory = Descriptor(processes)
        try allow(LandlockRights.readFile, directory.number)
    }

    /// Confines every thread of the process, and all threads that are started later.
    ///
    /// - Throws: `SystemError` if a thread could not be confined. Other threads may be confined then.
    package func enforce() throws(SystemError) -> Outcome {
        try allowReadingOfThreads()
        try AllThreads.confine(rules ?? -1)
        return obstacle.map { .unprivileged($0) } ?? .confined(version: version)
    }

    private static func obstacle(_ code: Int32) -> String {
        switch code {
        case ENOSYS: "it has no Landlock"
        case EOPNOTSUPP: "its Landlock is turned off"
        default: String(cString: strerror(code))
        }
    }
}

private import CLinux
private import Glibc
private import TransferSystem

/// An operand that is a stream: `-`, or a pipe that the shell has opened for `<(PROGRAM)`, as bash and zsh do.
struct StreamOperand: Sendable {
    let path: String
    let descriptor: Int32

    /// Folders in which Linux shows the descriptors of the process (proc_pid_fd(5)).
    private static let folders = ["/dev/fd/", "/proc/self/fd/"]

    /// - Returns: nil for any other path.
    init?(_ path: String) {
        guard let descriptor = Self.descriptor(path) else { return nil }
        (self.path, self.descriptor) = (path, descriptor)
    }

    private static func descriptor(_ path: String) -> Int32? {
        guard path != "-" else { return STDIN_FILENO }
        guard let number = number(path) else { return nil }
        var status = stat()
        // Only a pipe is a stream; a descriptor of a file is opened by its path, like any file.
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
        return number
    }

    private static func number(_ path: String) -> Int32? {
        guard path != "/dev/stdin" else { return STDIN_FILENO }
        guard let folder = folders.first(where: { path.utf8.starts(with: $0.utf8) }) else { return nil }
        let digits = path.utf8.dropFirst(folder.utf8.count)
        guard digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
        return Int32(String(Substring(digits)))
    }
}

private import CLinux
private import Glibc
internal import TransferAccess
private import TransferModel
private import TransferSystem

/// Reads the file of `--token-file`, which contains a token and nothing else.
enum TokenFile {
    /// The most bytes to read. A token has 50 bytes, and blanks may surround it.
    private static let longest = 4096

    /// Reads a token from a file or a pipe.
    ///
    /// - Throws: `UsageError`, which never contains the content.
    static func read(_ path: String, _ arguments: ParsedArguments) throws(UsageError) -> AccessSecret {
        guard path != "-" else {
            throw arguments.error(
                "--token-file does not read standard input, which may be the content to push; name a file")
        }
        let (text, isOpenToAll): (String, Bool)
        do throws(SystemError) {
            (text, isOpenToAll) = try content(of: path)
        } catch {
            throw arguments.error("the token file '\(path.escapedForDisplay)' cannot be read: \(error.reason)")
        }
        guard !isOpenToAll else {
            throw arguments.error(
                "every user of this machine can read the token file '\(path.escapedForDisplay)'; change that with: "
                    + "chmod go= \(RepeatedCommand.quoted(path))")
        }
        let words = text.utf8.split { $0 <= 0x20 }
        guard words.count == 1, let word = words.first, let secret = AccessSecret(String(decoding: word, as: UTF8.self))
        else {
            throw arguments.error("the token file '\(path.escapedForDisplay)' must contain one token and nothing else")
        }
        return secret
    }

    private static func content(of path: String) throws(SystemError) -> (text: String, isOpenToAll: Bool) {
        let file = Descriptor(try system("open") { open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) })
        let number = file.number
        var status = stat()
        try system("fstat") { fstat(number, &status) }
        // The mode of a pipe, such as that of a process substitution, does not show who can read it.
        let isOpenToAll = status.st_mode & S_IFMT == S_IFREG && status.st_mode & S_IROTH != 0
        return (String(decoding: try bytes(of: number), as: UTF8.self), isOpenToAll)
    }

    private static func bytes(of number: Int32) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: longest)
        while bytes.count < longest {
            let count = try system("read") { Glibc.read(number, &piece, piece.count) }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return bytes
    }
}

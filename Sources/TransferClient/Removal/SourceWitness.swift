internal import CLinux
import Glibc
import TransferModel
import TransferSystem

/// A second name beside a source, for a moment. If the server doesn't see it beside the stored file, then the two are in
/// different directories, and so what is removed here stays there. No look at numbers of devices and inodes could tell:
/// they differ where a directory is shared over a network, and a file system in user space may make them up.
///
/// It is a link to the source where that can be made, so that it is where the source is also in file systems that spread
/// one directory over several disks; elsewhere it is an empty file.
struct SourceWitness {
    let name: String
    private let directory: SourceDirectory

    /// So that people see what it is, if it is ever left behind.
    private static let prefix = ".transfer-witness-"

    /// Hexadecimal digits behind that; behind a separator the source's name follows, where there is room for it.
    private static let digitCount = 32
    private static let separator = UInt8(ascii: "-")

    /// Seconds after which one that is left belongs to nobody: far longer than a server is asked.
    private static let lifetime: time_t = 3600

    /// - Parameters:
    ///   - source: the name of the source in the directory.
    ///   - folder: what is before the name in the stored path.
    ///   - isFile: whether the source is a file; what else it is, a server may not show by another name.
    init(
        beside source: String, storedIn folder: String = "", in directory: SourceDirectory, isFile: Bool = true
    ) throws(SystemError) {
        var random = SecureRandom()
        self.directory = directory
        let mark = Self.prefix + UploadID(high: random.next(), low: random.next()).description
        let telling = "\(mark)-\(source)"
        name = (try? RelativePath(folder + telling)) == nil ? mark : telling
        guard !isFile || linkat(directory.number, source, directory.number, name, 0) != 0 else { return }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | clinux_o_nofollow
        close(try system("open") { clinux_openat(directory.number, name, flags, 0o600) })
    }

    /// - Throws: ENOENT when it was gone: then nobody knows since when, and that the server didn't see it means nothing.
    func remove() throws(SystemError) {
        try directory.unlink(name)
    }

    /// Whether a name was made here, so that nobody takes it for a file to be sent.
    static func isName(_ name: some StringProtocol) -> Bool {
        let bytes = name.utf8
        guard bytes.starts(with: prefix.utf8) else { return false }
        let digits = bytes.dropFirst(prefix.utf8.count)
        return digits.count >= digitCount && [nil, separator].contains(digits.dropFirst(digitCount).first)
            && digits.prefix(digitCount).allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }

    /// Clears away one that a killed push has left behind: removes it where it is empty or the second name of a file, so that no
    /// content goes, and gives the source its name back where the push was about to remove that.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: the name that a source has again.
    @discardableResult
    static func sweep(_ name: String, in directory: SourceDirectory, at now: time_t = time(nil)) -> String? {
        guard isName(name) else { return nil }
        var status = stat()
        guard fstatat(directory.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT), now - status.st_ctim.tv_sec > lifetime
        else { return nil }
        guard isOnlyName(status) else {
            unlinkat(directory.number, name, 0)
            return nil
        }
        return source(of: name).flatMap { directory.rename(name, toFree: $0) }
    }

    /// Whether what has such a name is a source that has no other one, because a push was killed while it removed that: a link, or a
    /// file with content.
    static func isOnlyName(_ status: stat) -> Bool {
        switch status.st_mode & S_IFMT {
        case S_IFLNK: true
        case S_IFREG: status.st_nlink < 2 && status.st_size > 0
        default: false
        }
    }

    /// - Returns: nothing for a name that does not say it.
    private static func source(of name: String) -> String? {
        let source = name.utf8.dropFirst(prefix.utf8.count + digitCount + 1)
        return source.isEmpty ? nil : String(Substring(source))
    }
}

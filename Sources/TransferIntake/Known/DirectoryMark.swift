import Glibc
package import TransferCatalog
package import TransferSystem

/// The file by which a server's directory knows that it is a copy: its number and its time of change are other ones there.
package struct DirectoryMark: Sendable {
    /// The name of the file in the server's own folder.
    package static let fileName = "home"

    /// Where the directory is; nil where it has no mark, or where that cannot be told.
    let read: @Sendable () -> DirectoryHome?

    /// Marks the directory anew, durably.
    let make: @Sendable () -> Result<DirectoryHome, SystemError>

    /// - Parameters:
    ///   - read: as above, and so is `make`; of a directory that is none of this machine.
    package init(
        read: @escaping @Sendable () -> DirectoryHome?,
        make: @escaping @Sendable () -> Result<DirectoryHome, SystemError>
    ) {
        (self.read, self.make) = (read, make)
    }

    /// - Parameters:
    ///   - folder: the path of the server's own folder.
    ///   - catalog: the path of its catalog, which is there.
    package init(in folder: String, catalog: String) {
        let path = "\(folder)/\(Self.fileName)"
        self.init(read: { Self.read(path, catalog) }) {
            Result { () throws(SystemError) in try Self.make(path, catalog) }
        }
    }

    private static func make(_ path: String, _ catalog: String) throws(SystemError) -> DirectoryHome {
        let token = UInt64.random(in: .min ... .max)
        _ = try OwnFile.write(Array((String(token, radix: 16) + "\n").utf8), to: path, replaces: true)
        guard let made = Self.read(path, catalog), made.token == token else {
            throw SystemError(errno: EIO, call: "open")
        }
        return made
    }

    private static func read(_ path: String, _ catalog: String) -> DirectoryHome? {
        guard let file = try? OwnFile(reading: path, atMost: 64), file.isGuarded,
            let text = String(validating: file.content, as: UTF8.self), text.hasSuffix("\n"),
            let token = UInt64(text.dropLast(), radix: 16), let number = OwnFile.identity(of: catalog)?.inode
        else { return nil }
        return DirectoryHome(
            token: token, object: file.identity.inode, touch: file.identity.changed, catalog: number)
    }
}

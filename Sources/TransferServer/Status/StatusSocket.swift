import TransferIO
import TransferModel
package import TransferSystem

/// The socket in the server's own folder that shows the status to programs of the same user on this machine.
package enum StatusSocket {
    private static let name = "control"

    /// Name and version of the document; members may be added without a new version.
    package static let schema = "transfer.status/2"

    /// Asks the server of a directory for its status.
    ///
    /// - Returns: a JSON document; empty if the server does not answer this user.
    /// - Throws: as `ControlSocket.read`.
    package static func ask(serverOf directory: String) throws(SystemError) -> [UInt8] {
        try ControlSocket.read(name, in: "\(directory)/\(RelativePath.reservedName)")
    }

    /// - Parameter folder: the server's own folder, which is locked, so that no other process has a socket there.
    static func bind(in folder: Int32) throws(SystemError) -> ControlSocket { try ControlSocket(name, in: folder) }
}

import TransferIO
import TransferModel
package import TransferSystem

/// Where a server tells the programs of its user on this machine how it is: a socket in its own folder.
package enum StatusSocket {
    private static let name = "control"

    /// What the document is called, with its version: members may be added without another one.
    package static let schema = "transfer.status/1"

    /// Asks the server that stores in a directory.
    ///
    /// - Returns: a JSON document; empty when it tells this user nothing.
    /// - Throws: as `ControlSocket.read`.
    package static func ask(serverOf directory: String) throws(SystemError) -> [UInt8] {
        try ControlSocket.read(name, in: "\(directory)/\(RelativePath.reservedName)")
    }

    /// - Parameter folder: the server's own, which is locked: nobody else has a socket there.
    static func bind(in folder: Int32) throws(SystemError) -> ControlSocket { try ControlSocket(name, in: folder) }
}

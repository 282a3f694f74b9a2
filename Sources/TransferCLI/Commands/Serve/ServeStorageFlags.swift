private import TransferModel
internal import TransferServer

/// The flags of `serve` about a directory on a file system of the network.
enum ServeStorageFlags {
    static let all = [waitsForLock.flag] + effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        FlagEffect(state.flag) { arguments, configuration in configuration.stateDirectory = arguments[state] }
    ]

    static let waitsForLock = Flag(
        name: "wait-for-lock", help: "Wait while another server stores in the directory, and take over when it ends.",
        details:
            "Of two servers of one directory, on one machine or on two that have mounted its file system, the second listens when the first "
            + "has ended or lost the directory. File systems on which locks do not hold are refused. docs/SERVER.md says more."
    ).isOn

    static let state = state(
        "Keep the catalog and the mailboxes in DIR.",
        details:
            "For a directory on a file system of the network, where a database with a write-ahead log must not lie. DIR is on a disk of the "
            + "machine, is made where it is missing, and is named at each start. Otherwise they are in .transfer.")

    /// - Parameter help: what the folder is to the command.
    static func state(_ help: String, details: String = "") -> FlagKey<String?, Never> {
        Flag(name: "state-dir", placeholder: "DIR", help: help, details: details, value: .folder).text
    }
}

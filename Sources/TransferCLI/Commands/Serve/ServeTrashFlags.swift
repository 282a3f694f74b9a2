private import TransferModel
internal import TransferServer

/// The flags of `serve` about what clients remove.
enum ServeTrashFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all = effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        Flag(
            name: "trash", help: "Put what clients remove into a trash.",
            details: "Without it that is done where a client asks for it, and what is removed otherwise is gone. "
                + "'transfer trash' shows, restores and empties it. What is in it takes room, and counts against quotas."
        ).isOn.sets(\.trashesRemovals),
        Flag(
            name: "keep-trash", placeholder: "DURATION",
            help: "Remove what is in the trash for good after so long.", isChangeable: true
        ).interval(default: usual.keepTrash).sets(\.keepTrash),
    ]
}

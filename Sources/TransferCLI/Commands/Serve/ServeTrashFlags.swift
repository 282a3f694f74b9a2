private import TransferModel
internal import TransferServer

/// The flags of `serve` about what clients remove and replace.
enum ServeTrashFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all = effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        FlagEffect(isOn.flag) { arguments, configuration in
            // Without an option the directory's own setting counts.
            if arguments.setting(of: isOn.flag) != nil { configuration.trash = arguments[isOn] }
        },
        lifetime.sets(\.keepTrash),
        FlagEffect(former.flag) { (arguments, configuration) throws(UsageError) in
            guard arguments.isSet(former), !arguments.isSet(lifetime) else { return }
            configuration.keepTrash = try arguments[former]
        },
    ]

    private static let isOn = Flag(
        name: "trash", help: "Put what clients remove or replace into a trash.",
        details:
            "A new directory has one; --no-trash is for a directory without, where only what clients want to have in a trash "
            + "goes there. What is said once holds for the directory until something else is said. 'transfer trash' shows, restores "
            + "and empties it. What is in it takes room, and counts against quotas."
    ).isOn

    private static let lifetime = Flag(
        name: "trash-for", placeholder: "DURATION",
        help: "Remove what is in the trash for good after so long.",
        details: "It goes earlier where room or a quota is needed, the oldest first.", isChangeable: true
    ).interval(default: usual.keepTrash)

    private static let former = Flag(
        name: "keep-trash", placeholder: "DURATION", help: "The same as --trash-for.", isChangeable: true
    ).interval(default: usual.keepTrash)
}

private import TransferModel
internal import TransferServer

/// Flags of `transfer serve` that concern the trash.
enum ServeTrashFlags {
    private static let usual = ServerConfiguration(directory: "", endpoints: [])

    static let all = effects.map(\.flag)

    static let effects: [FlagEffect<ServerConfiguration>] = [
        FlagEffect(isOn.flag) { arguments, configuration in
            // Without the flag, the setting that is stored in the directory applies.
            if arguments.setting(of: isOn.flag) != nil { configuration.trash = arguments[isOn] }
        },
        lifetime.sets(\.keepTrash),
        FlagEffect(former.flag) { (arguments, configuration) throws(UsageError) in
            guard arguments.isSet(former), !arguments.isSet(lifetime) else { return }
            configuration.keepTrash = try arguments[former]
        },
    ]

    private static let isOn = Flag(
        name: "trash", help: "Keep what clients remove or replace in a trash.",
        details:
            "A new directory has one. With --no-trash, only what clients ask to keep goes there. The "
            + "setting holds for the directory until it is changed. 'transfer trash' lists, restores and "
            + "empties the trash, whose content takes space and counts against quotas."
    ).isOn

    private static let lifetime = Flag(
        name: "trash-for", placeholder: "DURATION",
        help: "Permanently remove what is in the trash after DURATION.",
        details: "Earlier if space or a quota is needed, the oldest first.", isChangeable: true
    ).interval(default: usual.keepTrash)

    private static let former = Flag(
        name: "keep-trash", placeholder: "DURATION", help: "The same as --trash-for.", isChangeable: true
    ).interval(default: usual.keepTrash)
}

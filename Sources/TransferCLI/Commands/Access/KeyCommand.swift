private import TransferAccess
private import TransferKeys
private import TransferModel
private import TransferSystem

/// `transfer key`: shows this user's key, or generates a new one.
struct KeyCommand {
    private let makesNew: Bool
    private let isJSON: Bool

    /// - Throws: `UsageError` for operands other than `show` and `new`.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        isJSON = arguments[Self.json]
        switch arguments.operands {
        case [], ["show"]: makesNew = false
        case ["new"]: makesNew = true
        default: throw arguments.error("give 'show', 'new' or nothing")
        }
    }

    func run() -> ExitCode {
        guard let folder = ConfigurationFolder.path else {
            return AccessOutput.fail(
                "There is nowhere to keep a key: \(ConfigurationFolder.absence.escapedForDisplay).")
        }
        let key = ClientKey(in: folder)
        do throws(KeyPair.Fault) {
            return makesNew ? try replace(key) : try show(key)
        } catch {
            return AccessOutput.fail(error.message)
        }
    }

    private func show(_ key: ClientKey) throws(KeyPair.Fault) -> ExitCode {
        let (pair, isNew) = try key.open()
        return print(pair, key, isNew: isNew)
    }

    private func replace(_ key: ClientKey) throws(KeyPair.Fault) -> ExitCode {
        let (pair, old) = try key.replace(at: .now)
        return print(pair, key, isNew: true, old: old)
    }

    /// - Parameter old: the path of the previous key's file; nil if no key was replaced.
    private func print(_ pair: KeyPair, _ key: ClientKey, isNew: Bool, old: String? = nil) -> ExitCode {
        let line = ClientKey.line(for: pair.key)
        let object: JSONLine = [
            "schema": .string(JSONSchema.key), "line": .string(line),
            "fingerprint": .string("\(pair.key.fingerprint)"), "path": .string(key.path), "created": .bool(isNew),
            "previousPath": old.map { .string($0) } ?? .null,
        ]
        if !isJSON {
            let kept = old.map {
                " The old one is '\($0.escapedForDisplay)'; remove it when it is not needed any more."
            }
            let note = (isNew ? "Made" : "In") + " '\(key.path.escapedForDisplay)'." + (kept ?? "")
            StandardStream.error.write("\(note) Fingerprint: \(pair.key.fingerprint)\n")
        }
        let failure = StandardStream.output.write((isJSON ? object.text : line) + "\n")
        return failure.map { AccessOutput.fail("The key cannot be printed: \($0.reason).") } ?? .success
    }
}

extension KeyCommand: ProgramCommand {
    private static let json = Flag(name: "json", help: "Print one JSON object.", reach: .environment).isOn

    static let definition = Command(
        name: "key", summary: "Show this user's key, or generate a new one.", operands: "[show|new]",
        description: [
            "Clients authenticate to servers with an Ed25519 key pair. It is generated when it is first "
                + "needed, in $XDG_CONFIG_HOME/transfer/key.pem (~/.config/transfer/key.pem), and never leaves "
                + "this machine.",
            "Prints the public key as one line, which a server's operator gives to 'transfer access "
                + "add'. new generates another pair and keeps the old one beside it; servers then need the new "
                + "line.",
        ],
        flags: [json.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Show the line for a server", line: "transfer key"),
            .init(caption: "Generate a new key", line: "transfer key new"),
        ],
        outcomes: AccessFlags.outcomes, operandValue: .oneOf(["show", "new"]))
}

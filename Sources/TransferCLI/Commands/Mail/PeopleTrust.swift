internal import TransferClient
private import TransferKeys
private import TransferModel
private import TransferSealing

/// `transfer people --trust` and `--forget`: change the known keys of one person.
struct PeopleTrust {
    /// The change that the flags request.
    enum Change {
        /// Accept the keys that the server shows now. If a fingerprint is given, accept only that key.
        case trust(String, KeyFingerprint?)
        case forget(String)
    }

    static let trusted = Flag(
        name: "trust", placeholder: "NAME", help: "Trust the keys that the server shows for NAME.",
        details:
            "They replace the known ones. Compare them first with the output of 'transfer whoami' there, "
            + "or name the key that it must be: NAME=SHA256:... accepts no other.",
        value: .person
    ).text

    static let forgotten = Flag(
        name: "forget", placeholder: "NAME",
        help: "Forget the keys of NAME; the next ones that the server shows are accepted.",
        value: .person
    ).text

    private let change: Change

    /// - Returns: nil if neither flag is given.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        switch (arguments[Self.trusted], arguments[Self.forgotten]) {
        case (nil, nil): return nil
        case (let name?, nil): change = Self.trust(name)
        case (nil, let name?): change = .forget(name)
        default: throw arguments.error("--trust and --forget exclude each other")
        }
    }

    /// - Parameter text: a name, which may contain `=`, optionally followed by `=` and a fingerprint, which may end in
    ///   `=`.
    private static func trust(_ text: String) -> Change {
        for sign in text.utf8.indices.reversed() where text.utf8[sign] == UInt8(ascii: "=") {
            guard let key = KeyFingerprint(text[text.utf8.index(after: sign)...]) else { continue }
            return .trust(String(text[..<sign]), key)
        }
        return .trust(text, nil)
    }

    func run(_ client: TransferClient) async throws(TransferFailure) -> ExitCode {
        guard let known = client.sealing?.people else {
            return AccessOutput.fail("This user has no key, so no keys of others are known; see 'transfer help key'.")
        }
        let people = try await client.ask(isAboutItself: false)
        // The keys are requested before the list is changed, because the server may have none.
        let certificates: [SealingCertificate] =
            if case .trust(let name, _) = change { try people.certificates(of: name) } else { [] }
        do throws(KnownPeople.Fault) {
            switch change {
            case .trust(let name, let wanted):
                let right = certificates.filter {
                    wanted ?? KeyFingerprint(of: $0.owner) == KeyFingerprint(of: $0.owner)
                }
                guard !right.isEmpty else {
                    let shown = certificates.map { "\(KeyFingerprint(of: $0.owner))" }.joined(separator: ", ")
                    return AccessOutput.fail(
                        "The server shows no such key for '\(name.escapedForDisplay)', but \(shown). "
                            + "Nothing was changed."
                    )
                }
                for sighting in try known.accept(right, of: name, on: people.server) {
                    StandardStream.output.write("\(sighting.sentence)\n")
                }
            case .forget(let name):
                guard try !known.forget(name, on: people.server).isEmpty else {
                    return AccessOutput.fail("No key of '\(name.escapedForDisplay)' was known.")
                }
            }
            return .success
        } catch {
            return AccessOutput.fail(error.message)
        }
    }
}

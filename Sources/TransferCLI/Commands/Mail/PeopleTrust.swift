internal import TransferClient
private import TransferModel
private import TransferSealing

/// `transfer people --trust` and `--forget`: what is known of the keys of one person.
struct PeopleTrust {
    /// What is done with it.
    enum Change {
        /// What the server says now is taken.
        case trust(String)
        case forget(String)
    }

    static let trusted = Flag(
        name: "trust", placeholder: "NAME", help: "Take the keys that the server shows of NAME for the right ones.",
        details: "In place of those that were known. Compare them before with what 'transfer whoami' says there.",
        value: .person
    ).text

    static let forgotten = Flag(
        name: "forget", placeholder: "NAME", help: "Forget the keys of NAME: those that are shown next are taken.",
        value: .person
    ).text

    private let change: Change

    /// - Returns: nothing where neither is wanted.
    init?(_ arguments: ParsedArguments) throws(UsageError) {
        switch (arguments[Self.trusted], arguments[Self.forgotten]) {
        case (nil, nil): return nil
        case (let name?, nil): change = .trust(name)
        case (nil, let name?): change = .forget(name)
        default: throw arguments.error("--trust and --forget exclude each other")
        }
    }

    func run(_ client: TransferClient) async throws(PushFailure) -> ExitCode {
        guard let known = client.sealing?.people else {
            return AccessOutput.fail("Without a key of this user's own nothing is known of others; see 'transfer key'.")
        }
        let people = try await client.ask(isAboutItself: false)
        // Asked before anything is changed: it may have none.
        let certificates: [SealingCertificate] =
            if case .trust(let name) = change { try people.certificates(of: name) } else { [] }
        do throws(KnownPeople.Fault) {
            switch change {
            case .trust(let name):
                for sighting in try known.accept(certificates, of: name, on: people.server) {
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

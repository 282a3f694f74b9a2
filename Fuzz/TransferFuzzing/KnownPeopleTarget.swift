import TransferClient
import TransferKeys
import TransferModel
import TransferTestSupport

/// Input: whether the server has a key (lowest bit of 1 byte), a person's name with a NUL after it, the list of known
/// people.
enum KnownPeopleTarget {
    private static let server = KeyFingerprint(of: [UInt8](repeating: 7, count: 32))
    private static let signer = PublicKey(Bytes32([UInt8](repeating: 8, count: 32)) ?? Bytes32())

    static func run(_ bytes: [UInt8], in directory: TemporaryDirectory) throws(Finding) {
        var input = FuzzInput(bytes)
        let server = input.byte() & 1 == 0 ? nil : Self.server
        let name = String(decoding: input.upTo(0), as: UTF8.self)
        let content = input.rest()
        let people = KnownPeople(path: directory.path("known_people"))
        try Files.write(content, to: people.path)
        let before: [KnownPeople.Entry]
        switch Result(catching: { () throws(KnownPeople.Fault) in try people.entries() }) {
        case .success(let entries): before = entries
        case .failure(let fault):
            try require(shown: fault.message)
            // A list that cannot be read completely accepts no key, and is not changed.
            try require(
                (try? people.check(signer: signer, named: name, on: server)) == nil, "A bad list lets somebody in.")
            return try require(Files.content(people.path) == content, "The file has changed.")
        }
        try check(name, server, people, before)
    }

    /// An unknown person becomes known; for a known person no other key is accepted.
    private static func check(
        _ name: String, _ server: KeyFingerprint?, _ people: KnownPeople, _ before: [KnownPeople.Entry]
    ) throws(Finding) {
        let known = before.filter { $0.server == server && $0.name.utf8.elementsEqual(name.utf8) }
        let own = KeyFingerprint(of: signer)
        let isTaken = known.isEmpty || known.contains { $0.identity == own }
        let seen = try? people.check(signer: signer, named: name, on: server)
        try require((seen != nil) == isTaken, "'\(name)' was \(seen == nil ? "not " : "")taken.")
        guard let after = try? people.entries() else { throw Finding("What was written cannot be read.") }
        let added = known.isEmpty ? [KnownPeople.Entry(server: server, name: name, identity: own)] : []
        try require(after == before + added, "Meeting '\(name)' changes others.")
        let left = after.filter { $0.server != server || !$0.name.utf8.elementsEqual(name.utf8) }
        guard let forgotten = try? people.forget(name, on: server) else {
            throw Finding("'\(name)' cannot be forgotten.")
        }
        try require(forgotten.count == after.count - left.count, "'\(name)' is not forgotten.")
        try require((try? people.entries()) == left, "Forgetting '\(name)' changes others.")
    }
}

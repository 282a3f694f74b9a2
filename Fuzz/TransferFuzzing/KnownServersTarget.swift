import TransferClient
import TransferKeys
import TransferTestSupport

/// Input: an address with a NUL after it, the list of known servers.
enum KnownServersTarget {
    private static let fingerprint = KeyFingerprint(of: [UInt8](repeating: 7, count: 32))

    static func run(_ bytes: [UInt8], in directory: TemporaryDirectory) throws(Finding) {
        var input = FuzzInput(bytes)
        let address = String(decoding: input.upTo(0), as: UTF8.self)
        let content = input.rest()
        let path = directory.path("known_servers")
        try Files.write(content, to: path)
        let list = KnownServers(path: path)
        let expected = entries(content)
        let found = Result { () throws(KnownServers.Fault) in try list.entries() }
        try require((try? found.get()) == expected, "The list says \(found), not \(String(describing: expected)).")
        if case .failure(let fault) = found { try require(shown: fault.message) }
        try add(address, to: list, content, expected)
    }

    /// Reads the list by the rules in a simple way. Nil if a line is neither an entry nor a comment nor empty.
    private static func entries(_ content: [UInt8]) -> [KnownServers.Entry]? {
        var entries: [KnownServers.Entry] = []
        for line in content.split(separator: UInt8(ascii: "\n")) {
            let end = line.last == UInt8(ascii: "\r") ? line.endIndex - 1 : line.endIndex
            let words = line[..<end].split { $0 == 0x20 || $0 == 0x09 }
            guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
            let isOwn = words.count == 3 && words[2].elementsEqual("#serve".utf8)
            guard words.count == 2 || isOwn, let entry = entry(words[0], words[1], isOwn) else { return nil }
            entries.append(entry)
        }
        return entries
    }

    private static func entry(
        _ address: ArraySlice<UInt8>, _ key: ArraySlice<UInt8>, _ isOwn: Bool
    ) -> KnownServers.Entry? {
        guard let text = String(validating: address, as: UTF8.self), isKept(text),
            let fingerprint = String(validating: key, as: UTF8.self).flatMap({ KeyFingerprint($0) })
        else { return nil }
        return KnownServers.Entry(address: text, fingerprint: fingerprint, isOwn: isOwn)
    }

    private static func isKept(_ address: String) -> Bool {
        address.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } && !address.isEmpty && address.utf8.first != 0x23
    }

    /// A server that is added is known by the new key only, and the other servers are known as before. An address that
    /// cannot be stored changes nothing.
    private static func add(
        _ address: String, to list: KnownServers, _ content: [UInt8], _ before: [KnownServers.Entry]?
    ) throws(Finding) {
        let entry = KnownServers.Entry(address: address, fingerprint: fingerprint)
        let isAdded = (try? list.add(entry)) != nil
        try require(isAdded == (before != nil && isKept(address)), "'\(address)' was \(isAdded ? "" : "not ")added.")
        guard isAdded, let before else {
            return try require(Files.content(list.path) == content, "The file has changed.")
        }
        let others = before.filter { $0.address != address }
        try require((try? list.entries()) == others + [entry], "Adding '\(address)' changes others.")
        try require((try? list.fingerprint(of: address)) == fingerprint, "'\(address)' is not known.")
        try require((try? list.remove(address)) == true, "'\(address)' cannot be removed.")
        try require((try? list.entries()) == others, "Removing '\(address)' changes others.")
        try require(entries(Files.content(list.path) ?? []) == others, "The file says something else.")
        try addOwn(address, to: list, others)
    }

    /// A server that this user runs may add an entry for itself. This changes no entry of another origin, for example
    /// one of the user.
    private static func addOwn(
        _ address: String, to list: KnownServers, _ others: [KnownServers.Entry]
    ) throws(Finding) {
        let entry = KnownServers.Entry(address: address, fingerprint: fingerprint, isOwn: true)
        try require((try? list.addOwn(fingerprint, at: [address])) == [], "'\(address)' is said to be another.")
        guard let after = try? list.entries() else { throw Finding("What a server wrote cannot be read.") }
        try require(after.last == entry, "'\(address)' is not there.")
        try require(after.filter { !$0.isOwn } == others.filter { !$0.isOwn }, "A server changes what others wrote.")
        let contrary = KnownServers.Entry(address: address, fingerprint: KeyFingerprint(of: [1]))
        try require((try? list.add(contrary)) != nil, "'\(address)' cannot be added.")
        try require((try? list.addOwn(fingerprint, at: [address])) == [contrary], "A server overrules its user.")
        try require((try? list.fingerprint(of: address)) == contrary.fingerprint, "A server overrules its user.")
    }
}

package import TransferKeys
import TransferModel
package import TransferSealing

/// A person's key that the user should learn of.
package struct KeySighting: Sendable, Equatable {
    package enum Kind: Sendable {
        /// The first key of a person of whom no key was known.
        case first
        /// A known identity has signed another key to seal for.
        case renewed
        /// The key is not sealed for, because its identity is not one of the known ones.
        case leftOut
        /// The key was accepted because the user said so.
        case accepted
    }

    package let kind: Kind
    package let name: String
    package let certificate: SealingCertificate

    /// Describes the sighting in a sentence without its period.
    package var sentence: String {
        let command = KnownPeople.trustCommand(name)
        let (name, key) = (name.escapedForDisplay, KeyFingerprint(of: certificate.owner))
        return switch kind {
        case .first:
            "\(name)'s key is \(key), seen for the first time; compare it with what 'transfer whoami' says at \(name)'s"
        case .renewed:
            "\(name) has a new key to seal for, \(certificate.fingerprint), signed by the known key \(key)"
        case .leftOut:
            "\(name) has another key, \(key), which is not known here, so files are not sealed for it; "
                + "if \(name) confirms the key, run \(command)"
        case .accepted: "\(name)'s key is \(key), with \(certificate.fingerprint) to seal for"
        }
    }
}

extension KnownPeople {
    /// Decides which keys may be sealed for, and keeps them. If nothing is known of the person, all certificates are
    /// admitted.
    ///
    /// - Parameters:
    ///   - certificates: what the server says of the person, one for each identity; not empty.
    ///   - name: the person's name.
    ///   - server: identifies the server; see `ProvenServer.fingerprint`.
    /// - Returns: the certificates to seal for, and what the user should learn.
    /// - Throws: `otherKey` if no certificate has a known identity, or if one is older than the known one of the same
    ///   identity.
    package func admit(
        _ certificates: [SealingCertificate], of name: String, on server: KeyFingerprint?
    ) throws(Fault) -> (admitted: [SealingCertificate], sightings: [KeySighting]) {
        try change { (lines) throws(Fault) in
            let known = lines.compactMap(\.entry).filter { $0.isAbout(name, server) }
            guard !known.isEmpty else {
                lines += certificates.map { Line(Entry($0, of: name, on: server)) }
                return (certificates, certificates.map { KeySighting(kind: .first, name: name, certificate: $0) })
            }
            var (admitted, sightings): ([SealingCertificate], [KeySighting]) = ([], [])
            for certificate in certificates {
                let entry = Entry(certificate, of: name, on: server)
                guard let before = known.first(where: { $0.identity == entry.identity }) else {
                    sightings.append(KeySighting(kind: .leftOut, name: name, certificate: certificate))
                    continue
                }
                admitted.append(certificate)
                guard before.sealing != entry.sealing else { continue }
                let isSame = before.sealing?.fingerprint == certificate.fingerprint
                if let sealing = before.sealing, certificate.issued <= sealing.issued {
                    guard isSame else { throw Self.olderKey(certificate, of: name, than: sealing) }
                    continue
                }
                lines.removeAll { $0.entry?.isSameIdentity(as: entry) ?? false }
                lines.append(Line(entry))
                if !isSame { sightings.append(KeySighting(kind: .renewed, name: name, certificate: certificate)) }
            }
            guard !admitted.isEmpty else { throw Self.otherKeys(certificates, of: name, known) }
            return (admitted, sightings)
        }
    }

    /// Accepts a server's certificates of a person, in place of all keys that were known before.
    ///
    /// - Parameter certificates: not empty.
    package func accept(
        _ certificates: [SealingCertificate], of name: String, on server: KeyFingerprint?
    ) throws(Fault) -> [KeySighting] {
        try change { (lines) throws(Fault) in
            lines.removeAll { $0.entry?.isAbout(name, server) ?? false }
            lines += certificates.map { Line(Entry($0, of: name, on: server)) }
            return certificates.map { KeySighting(kind: .accepted, name: name, certificate: $0) }
        }
    }

    private static func otherKeys(_ certificates: [SealingCertificate], of name: String, _ known: [Entry]) -> Fault {
        let shown = certificates.map { "\(KeyFingerprint(of: $0.owner))" }.joined(separator: ", ")
        let keys = known.map { "\($0.identity)" }.joined(separator: ", ")
        let (name, command) = (name.escapedForDisplay, trustCommand(name))
        return Fault(
            reason: .otherKey,
            message:
                "THE KEY OF \(name) HAS CHANGED. An attacker may want to read files for \(name), or "
                + "\(name) was set up anew. Known is \(keys), shown was \(shown). Nothing was sent. Ask "
                + "\(name) what 'transfer whoami' says there; if it is the new one, run \(command) and push again."
        )
    }

    private static func olderKey(
        _ certificate: SealingCertificate, of name: String, than known: Entry.Sealing
    ) -> Fault {
        let (name, command) = (name.escapedForDisplay, trustCommand(name))
        return Fault(
            reason: .otherKey,
            message: "The server shows a key of \(name) to seal for that is not newer than the known one: "
                + "\(certificate.fingerprint) of \(certificate.issued), and known is \(known.fingerprint) of "
                + "\(known.issued). An attacker may have stolen the older one. Nothing was sent. Ask \(name) "
                + "what 'transfer whoami' says there; if it is the older one, run \(command) and push again.")
    }
}

extension KnownPeople.Entry {
    init(_ certificate: SealingCertificate, of name: String, on server: KeyFingerprint?) {
        self.init(
            server: server, name: name, identity: KeyFingerprint(of: certificate.owner),
            sealing: Sealing(certificate.fingerprint, issued: certificate.issued))
    }

    func isSameIdentity(as other: KnownPeople.Entry) -> Bool {
        isAbout(other.name, other.server) && identity == other.identity
    }
}

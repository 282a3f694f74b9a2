private import TransferAccess
internal import TransferIO
internal import TransferKeys
private import TransferModel
internal import TransferServer
private import TransferSystem

/// Sets up access to a server when it starts: its lists, the owner's key, and an invitation.
final class ServeAccess: Sendable {
    /// The lists of the server, known when it is about to listen.
    private let lists = Locked<(any ManagedAccess)?>(nil)
    /// The user's configuration folder; nil if it is inside the server's directory, where clients could change it.
    private let configurationFolder: String?
    private let isOpen: Bool
    private let isEncrypted: Bool
    private let advertised: AdvertisedAddress?
    private let invitation = Locked<Invitation?>(nil)

    /// - Throws: `UsageError` for an address that clients cannot use.
    ///
    /// - Parameter directory: the directory that the server stores in; for a server of a cluster, its folder.
    init(_ arguments: ParsedArguments, directory: String) throws(UsageError) {
        configurationFolder = ConfigurationFolder.path.flatMap { path in
            CanonicalPath(path).isWithin(CanonicalPath(directory)) ? nil : path
        }
        isOpen = arguments[ServeFlags.isOpen]
        isEncrypted = !arguments[ServeFlags.isPlaintext]
        advertised = try arguments[ServeFlags.advertised]
    }

    /// Sets the access rules, and opens or generates the user's key for them. Blocks.
    func configure(_ configuration: inout ServerConfiguration) {
        let (owner, events) = isEncrypted && !isOpen ? owner() : (nil, [])
        configuration.advertised = advertised?.text
        configuration.access = isOpen ? .everyone : .listed(owner: owner)
        // A restarted worker has the same key and addresses as before, and its invitation was already printed.
        guard (configuration.supervision?.restarts ?? 0) == 0 else { return }
        configuration.whenBound = { [self] bound in events + announcements(bound) }
    }

    /// Prints the invitation, if one was made.
    func printInvitation() {
        invitation.withLock { $0 }?.print()
    }

    /// The key of the user who runs the server. If it cannot be used, this is only logged: without an owner, the server
    /// still accepts the clients in its lists.
    private func owner() -> (PublicKey?, [LogEvent]) {
        guard let configurationFolder else {
            let text =
                "your own clients have no access: your configuration is in the directory that clients write "
                + "to"
            return (nil, ConfigurationFolder.path == nil ? [] : [.announcement(.warning, "noOwner", text)])
        }
        let key = ClientKey(in: configurationFolder)
        do throws(KeyPair.Fault) {
            let (pair, isNew) = try key.open()
            let made = "generated '\(key.path.escapedForDisplay)', by which servers identify you"
            return (pair.key, isNew ? [.announcement(.info, "keyMade", made)] : [])
        } catch {
            return (nil, [.announcement(.warning, "noOwner", "your own clients have no access: \(error.message)")])
        }
    }

    private func announcements(_ bound: ServerConfiguration.Bound) -> [LogEvent] {
        lists.withLock { $0 = bound.access }
        let others = bound.endpoints.filter { !$0.mayBeLocal }
        guard let key = bound.key else {
            let text = "without encryption clients cannot be identified: anyone who can reach this server may push"
            return [.announcement(others.isEmpty ? .info : .warning, "plaintext", text)]
        }
        var events = keep(key) + (configurationFolder == nil ? [] : OwnServer.pin(key, bound.endpoints))
        if isOpen {
            let text = "ANYONE WHO CAN REACH THIS SERVER MAY PUSH: it was started with --open"
            events.append(.announcement(.warning, "open", text))
        } else if let endpoint = others.first, !Authenticator(bound.access).admitsAnybody(at: .now) {
            events.append(invite(to: endpoint, key, bound.access))
        }
        return events
    }

    /// Records the key that the server shows, for links that are made later.
    func keep(_ key: KeyFingerprint) -> [LogEvent] {
        do throws(AccessFault) {
            try lists.withLock { $0 }?.keep(shownKey: key)
            return []
        } catch {
            return [
                .announcement(.warning, "shownKey", "links may have another key than this server's: \(error.message)")
            ]
        }
    }

    /// Makes an invitation, for a server that listens for other machines although no client on them is authorised yet.
    private func invite(to endpoint: Endpoint, _ key: KeyFingerprint, _ lists: any AccessLists) -> LogEvent {
        do throws(AccessFault) {
            guard let (host, port) = address(endpoint) else {
                throw AccessFault(
                    "This machine has no address that other machines can reach; give one with --advertise.")
            }
            var options = AccessOptions()
            options.rights = .noRemove
            let made = try Invitation(
                lists, host: host, port: advertised?.port ?? port, server: key, options: options, at: .now)
            invitation.withLock { $0 = made }
            return .announcement(
                .info, "invited",
                "no client may push from other machines yet; run the next line on one of them by "
                    + "\(made.expires), with any file: it may then \(AccessOutput.sentence(options))")
        } catch {
            return .announcement(.warning, "notInvited", "no client may push from other machines yet: \(error.message)")
        }
    }

    private func address(_ endpoint: Endpoint) -> (host: String, port: UInt16)? {
        guard case .internet(_, let port) = endpoint else { return nil }
        return (advertised?.host ?? AdvertisedAddress.host(of: endpoint)).map { ($0, port) }
    }
}

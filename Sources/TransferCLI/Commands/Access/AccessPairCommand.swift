private import TransferAccess
private import TransferModel

/// `transfer access pair`: prints a command, or a link for a browser, by which one more client is authorised.
struct AccessPairCommand {
    private let place: AccessPlace
    private let options: AccessOptions
    private let drawsCode: Bool
    private let isJSON: Bool
    private let advertised: AdvertisedAddress?
    private let web: WebInvitation.Terms?

    /// - Throws: `UsageError` for an invalid address or limit.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        place = AccessPlace(arguments)
        options = try AccessFlags.options(arguments, rights: .noRemove)
        drawsCode = arguments[Self.qr]
        isJSON = arguments[AccessFlags.issuedJSON]
        advertised = try arguments[Self.advertise]
        web = try WebPairFlags.terms(arguments)
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let lists = try place.open()
            try lists.requireUsed()
            if let web { return try invite(web, in: lists) }
            let address = try place.address(advertised: advertised)
            let server = try place.key(lists)
            let invitation = try Invitation(
                lists, host: address.host, port: address.port, server: server, options: options,
                drawsCode: drawsCode, at: .now)
            for warning in address.warnings { StandardStream.error.write("transfer: \(warning)\n") }
            guard !isJSON else {
                AccessOutput.print([invitation.json])
                return .success
            }
            if drawsCode, !invitation.hasCode { sayNoCode() }
            StandardStream.error.write(
                "Run this on the other machine by \(invitation.expires), with any file; it works once. "
                    + "That client may then \(AccessOutput.sentence(options)):\n")
            invitation.print()
            return .success
        }
    }

    private func invite(_ terms: WebInvitation.Terms, in lists: any AccessLists) throws(AccessFault) -> ExitCode {
        let base = if let base = terms.base { base } else { try servedBase() }
        let invitation = try WebInvitation(
            lists, terms, base: base, options: options, drawsCode: drawsCode, at: .now)
        guard !isJSON else {
            AccessOutput.print([invitation.json])
            return .success
        }
        if drawsCode, !invitation.hasCode { sayNoCode() }
        StandardStream.error.write(
            "Open this in a browser by \(invitation.expires), and press its button; it works once. Until \(terms.ends) that "
                + "browser may, as '\(terms.name)', \(AccessOutput.sentence(options)):\n")
        invitation.print()
        return .success
    }

    private func servedBase() throws(AccessFault) -> String {
        let address = try place.address(advertised: advertised)
        for warning in address.warnings { StandardStream.error.write("transfer: \(warning)\n") }
        return WebInvitation.base(host: address.host, port: address.port)
    }

    private func sayNoCode() {
        StandardStream.error.write("transfer: No QR code: libqrencode is not installed.\n")
    }
}

extension AccessPairCommand: ProgramCommand {
    private static let advertise = AdvertisedAddress.key(
        help: "The address under which clients reach the server.",
        details:
            "By default, what the running server was given as --advertise, or this machine's address on "
            + "its network, and the port that the server listens on.")

    private static let qr = Flag(
        name: "qr", help: "Draw the link as a QR code, even if the output is not a terminal.",
        details: "Needs libqrencode."
    ).isOn

    static let definition = Command(
        name: "access pair", summary: "Print a command that authorises one more client.",
        description: [
            "Prints a push command to run on the other machine. Its link contains the server's address, "
                + "its key, and a code. The first client that uses the code gets its own key authorised; after "
                + "that, or after ten minutes, the code is invalid.",
            "Unless flags say otherwise, that client may push, list and fetch, but not remove or replace "
                + "what others have stored. The address is obtained from the running server.",
            "With --web it prints a link for a browser. Opening its page does not use the link up; its "
                + "button does, and begins a session, which 'transfer access list' shows and 'transfer access "
                + "remove' ends.",
        ],
        flags: AccessPlace.flags + [
            advertise.flag, qr.flag, AccessFlags.allowRemove.flag,
        ] + AccessFlags.bounds + WebPairFlags.all + [AccessFlags.issuedJSON.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Pair one more client", line: "transfer access pair"),
            .init(
                caption: "Pair a phone that may only push to its folder",
                line: "transfer access pair --folder phone --write-only --advertise nas.local"),
            .init(caption: "Pair your own second machine", line: "transfer access pair --allow-remove"),
            .init(
                caption: "Allow a browser for a day, through a proxy",
                line: "transfer access pair --web --expires 1d --url https://files.example.org"),
        ],
        outcomes: AccessFlags.outcomes)
}

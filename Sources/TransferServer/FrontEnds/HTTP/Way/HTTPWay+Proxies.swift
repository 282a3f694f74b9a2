import TransferHTTP
import TransferIO

extension HTTPWay {
    private static let disagreement = HTTPFault(400, "Two fields of a proxy say different things of the client.")
    private static let noAddress = HTTPFault(400, "The address that a proxy tells is none.")

    /// What a proxy that is believed says of the client: by the last hop from the right that isn't one of those itself.
    ///
    /// - Parameter origin: makes one of an address.
    /// - Throws: 400 for what cannot be understood, or says two things.
    mutating func believe(
        _ fields: HTTPFields, _ trusted: [TrustedProxy], origin: (IPAddress) -> PeerOrigin
    ) throws(HTTPFault) {
        let told = [
            try Hop(Forwarded.hops(fields, .standard), trusted), try Hop(Forwarded.hops(fields, .customary), trusted),
        ].compactMap(\.self)
        guard let first = told.first else { return }
        let second = told.last ?? first
        guard first.agrees(with: second) else { throw Self.disagreement }
        if let address = first.address { self.origin = origin(address) }
        isSecure = first.isSecure ?? second.isSecure ?? isSecure
        host = (first.host ?? second.host).map { Array($0.utf8) } ?? host
    }

    /// Where the client stands in what one kind of field says.
    private struct Hop {
        let address: IPAddress?
        let isSecure: Bool?
        let host: String?

        /// - Returns: nothing where there is no such field.
        init?(_ hops: [Forwarded], _ trusted: [TrustedProxy]) throws(HTTPFault) {
            guard var hop = hops.last else { return nil }
            var address = try Self.address(of: hop)
            for earlier in hops.dropLast().reversed() {
                guard let known = address, trusted.contains(where: { $0.contains(known) }) else { break }
                (hop, address) = (earlier, try Self.address(of: earlier))
            }
            (self.address, isSecure, host) = (address, hop.isSecure, hop.host)
        }

        private static func address(of hop: Forwarded) throws(HTTPFault) -> IPAddress? {
            guard let text = hop.address else { return nil }
            guard let address = IPAddress(text) else { throw noAddress }
            return address
        }

        func agrees(with other: Hop) -> Bool {
            func isSame<Value: Equatable>(_ a: Value?, _ b: Value?) -> Bool { a == nil || b == nil || a == b }
            return address == other.address && isSame(isSecure, other.isSecure)
                && isSame(host.map { Array($0.utf8) }, other.host.map { Array($0.utf8) })
        }
    }
}

/// Chooses the form of an answer that a client prefers (RFC 9110, section 12). Malformed members are ignored: at worst,
/// the client gets another form.
package enum Negotiation {
    /// How many members of a field are considered. Browsers send up to ten.
    package static let mostMembers = 64

    /// - Parameters:
    ///   - lines: values of the lines of `Accept`.
    ///   - offers: media types without parameters, in lower case, the best first.
    /// - Returns: the most wanted offer, and the first if several are equally wanted; nil if the client accepts none.
    package static func mediaType(_ lines: [[UInt8]], of offers: [String]) -> String? {
        let ranges = members(lines).compactMap { MediaRange($0) }
        guard !ranges.isEmpty else { return offers.first }
        return best(of: offers) { offer in
            // The most specific range decides (section 12.5.1).
            ranges.filter { $0.fits(offer) }.max { $0.narrowness < $1.narrowness }?.quality
        }
    }

    /// Languages of the server's pages.
    package enum Language: String, Sendable {
        case english = "en"
        case chinese = "zh"
        case german = "de"
    }

    /// - Parameter lines: values of the lines of `Accept-Language`.
    /// - Returns: English if the client wants none of the languages, or wants several equally and names none first.
    package static func language(_ lines: [[UInt8]]) -> Language {
        let ranges = members(lines).compactMap { LanguageRange($0) }
        let offers: [Language] = [.english, .chinese, .german]
        let named = ranges.compactMap { range in offers.first { range.names($0.rawValue) } }
        let chosen = best(of: named + offers) { offer in
            // `zh-CN` and `zh-TW` both mean Chinese here, and the higher of their qualities counts.
            ranges.filter { $0.names(offer.rawValue) }.map(\.quality).max() ?? ranges.first { $0.isAny }?.quality
        }
        return chosen ?? .english
    }

    private static func best<Offer>(of offers: [Offer], _ quality: (Offer) -> Quality?) -> Offer? {
        var best: (offer: Offer, quality: Quality)?
        for offer in offers {
            guard let quality = quality(offer), quality.thousandths > (best?.quality.thousandths ?? 0) else { continue }
            best = (offer, quality)
        }
        return best?.offer
    }

    private static func members(_ lines: [[UInt8]]) -> [ArraySlice<UInt8>] {
        Array(lines.compactMap { FieldReader.members($0) }.joined().prefix(mostMembers))
    }
}

/// A member of `Accept`: `text/html;q=0.9`, `text/*`, `*/*` (RFC 9110, section 12.5.1).
private struct MediaRange {
    let type: MediaType
    let quality: Quality

    init?(_ member: ArraySlice<UInt8>) {
        guard let type = MediaType(member) else { return nil }
        guard let text = type["q"] else {
            (self.type, quality) = (type, .most)
            return
        }
        guard let quality = Quality(text.utf8) else { return nil }
        (self.type, self.quality) = (type, quality)
    }

    /// How specific the range is. Parameters other than `q` are ignored, because no offer has any.
    var narrowness: Int { type.type == "*" ? 0 : type.subtype == "*" ? 1 : 2 }

    func fits(_ offer: String) -> Bool {
        switch narrowness {
        case 0: type.subtype == "*"
        case 1: offer.hasPrefix(type.type + "/")
        default: type.essence == offer
        }
    }
}

/// A member of `Accept-Language`: `zh-CN;q=0.5`, `*` (RFC 9110, section 12.5.4; RFC 4647, section 2.1).
private struct LanguageRange {
    let tag: String
    let quality: Quality

    init?(_ member: ArraySlice<UInt8>) {
        var reader = FieldReader(member)
        let tag = reader.take { FieldSyntax.isLetter($0) || HTTPCharacter.isDigit($0) || "-*".utf8.contains($0) }
        guard !tag.isEmpty, let parameters = reader.parameters(most: 1) else { return nil }
        guard let text = parameters.first else {
            (self.tag, quality) = (FieldSyntax.lowercased(tag), .most)
            return
        }
        guard text.name == "q", let quality = Quality(text.value) else { return nil }
        (self.tag, self.quality) = (FieldSyntax.lowercased(tag), quality)
    }

    var isAny: Bool { tag == "*" }

    func names(_ language: String) -> Bool { tag == language || tag.hasPrefix(language + "-") }
}

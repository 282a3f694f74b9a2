internal import TransferModel

extension Flag {
    /// What is wrong with a value, as far as that can be said without running the command.
    ///
    /// - Parameter source: what to call the place where the value stands.
    /// - Returns: a phrase, or nothing for a value that may be right.
    func fault(of value: String, from source: String) -> String? {
        switch self.value {
        case _ where choices != nil: choiceFault(of: value, from: source)
        case .size: Self.fault(of: value, source, "a size; \(Self.sizeForm)", SizeNotation.bytes)
        case .duration: Self.fault(of: value, source, "a duration; \(Self.durationForm)", DurationNotation.seconds)
        default: nil
        }
    }

    static let sizeForm = "write it like 500, 64K, 1.5G or 10MB"
    static let durationForm = "write it like 500ms, 20s, 5m, 2h or 7d"

    private func choiceFault(of value: String, from source: String) -> String? {
        guard let choices, !choices.contains(value) else { return nil }
        let suggestion = Suggestion.phrase(for: value, among: choices)
        let list = "; choose \(choices.joined(separator: ", "))"
        let place = source == spelling ? "'\(source)'" : source
        return "unknown value '\(value.escapedForDisplay)' for \(place)" + (suggestion.isEmpty ? list : suggestion)
    }

    private static func fault<Quantity>(
        of value: String, _ source: String, _ wanted: String, _ read: (String) throws(QuantityFault) -> Quantity
    ) -> String? {
        do throws(QuantityFault) {
            _ = try read(value)
            return nil
        } catch {
            return phrase(for: error, of: value, from: source, wanted)
        }
    }

    /// - Parameter wanted: what the value should be, with an article.
    static func phrase(
        for fault: QuantityFault, of value: String, from source: String, _ wanted: String
    ) -> String {
        let text = value.escapedForDisplay
        return switch fault {
        case .malformed: "\(source): '\(text)' is not \(wanted)"
        case .tooLarge: "\(source): '\(text)' is too large"
        }
    }
}

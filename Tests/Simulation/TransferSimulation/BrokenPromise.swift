import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

extension Promises {
    /// A promise that was not kept.
    struct Broken: Error, CustomStringConvertible {
        let description: String

        /// The sentence without the paths and numbers of this run. Two failures of one kind count as one mistake.
        let kind: String

        init(_ words: Words) {
            description = words.text
            kind = words.template
        }
    }

    /// A sentence about one run, and a template of the sentence without the values that differ between runs.
    struct Words: ExpressibleByStringInterpolation {
        /// Collects the sentence and its template from the pieces of a literal.
        struct StringInterpolation: StringInterpolationProtocol {
            fileprivate var text = ""
            fileprivate var template = ""

            init(literalCapacity: Int, interpolationCount: Int) {}

            mutating func appendLiteral(_ literal: String) {
                text += literal
                template += literal
            }

            /// Values of this run, such as paths, numbers and states. The template omits them.
            mutating func appendInterpolation(_ value: some Any) {
                text += "\(value)"
                template += "…"
            }

            /// A code says what has happened, so it belongs to the kind.
            mutating func appendInterpolation(_ code: ResultCode) {
                text += "\(code)"
                template += "\(code)"
            }

            /// Only the code of a failure belongs to the kind, because the message may contain paths.
            mutating func appendInterpolation(_ error: Failure) {
                text += "\(error)"
                template += "\(error.code)"
            }
        }

        fileprivate let text: String
        fileprivate let template: String

        init(stringLiteral text: String) {
            self.text = text
            template = text
        }

        init(stringInterpolation pieces: StringInterpolation) {
            text = pieces.text
            template = pieces.template
        }
    }
}

extension Simulation {
    /// Key that all failures with one cause share. An error that is not a broken promise has its own kind.
    static func kind(of error: any Error) -> String {
        switch error {
        case let broken as Promises.Broken: return broken.kind
        case let error as Failure: return "Failure \(error.code)"
        case let error as SystemError: return "SystemError \(error.errno) of \(error.call)"
        default:
            let mirror = Mirror(reflecting: error)
            let isCase = mirror.displayStyle == .enum
            // A case with associated values is its mirror's only child. The description of any other case is its name.
            let name = isCase ? mirror.children.first?.label ?? "\(error)" : ""
            return "\(type(of: error)) \(name)".trimmed
        }
    }
}

extension String {
    fileprivate var trimmed: String { hasSuffix(" ") ? String(dropLast()) : self }
}
